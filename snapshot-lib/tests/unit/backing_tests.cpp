// SPDX-License-Identifier: BSD-3-Clause
//
// Pages that need blocks before a commit, and the durable state when a call that ends something returns.
#include <fcntl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "file_test.hpp"
#include "thread_sleep.hpp"

extern int fallocate_error;
extern thread_local std::atomic<bool> *growth_waits_for;
extern std::atomic<bool> log_grows;
extern "C" size_t snapshot_test_pages(const void *address, int64_t *pages, size_t room);

namespace {

constexpr size_t Page = 4096, Pages = 8;

class Backing : public FileTest {
  protected:
    static void storeToPage(const TrackedFile &file, size_t page, uint64_t value) {
        for (size_t offset = 0; offset < Page; offset += 64)
            trackedStore(file.working() + page * Page + offset, value);
    }
    static std::vector<int64_t> listed(const TrackedFile &file) {
        std::vector<int64_t> pages(1000);
        pages.resize(std::min(snapshot_test_pages(file.working(), pages.data(), pages.size()), pages.size()));
        std::sort(pages.begin(), pages.end());
        return pages;
    }
    bool hasBlocks(size_t page) const {
        int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        auto at = static_cast<off_t>(page * Page);
        off_t found = lseek(fd, at, SEEK_DATA);
        close(fd);
        return found == at;
    }
};

TEST_F(Backing, IsAskedForOnceForEachPage) {
    TrackedFile file(path, Pages * Page, SNAPSHOT_PROTOCOL_REDO);
    ASSERT_EQ(file.error(), 0);
    for (uint64_t value = 1; value <= 3; value++) {
        storeToPage(file, 3, value);
        storeToPage(file, 1, value);
        EXPECT_EQ(listed(file), (std::vector<int64_t>{1, 3}));
        EXPECT_EQ(file.commit(), 0);
    }
    EXPECT_TRUE(hasBlocks(1));
    EXPECT_FALSE(hasBlocks(2));
}

// The commit of `redo` leaves the file as it is, so that only asking for them gives pages their blocks.
TEST_F(Backing, IsAskedForAgainWhereTheFileWasCutAndHasGrown) {
    TrackedFile file(path, Pages * Page, SNAPSHOT_PROTOCOL_REDO);
    ASSERT_EQ(file.error(), 0);
    for (size_t page : {1, 5, 0, 6})
        storeToPage(file, page, 7);
    ASSERT_EQ(snapshot_resize(file.working(), 2 * Page), 0);
    EXPECT_EQ(listed(file), (std::vector<int64_t>{0, 1}));
    ASSERT_EQ(snapshot_resize(file.working(), Pages * Page), 0);
    for (size_t page : {6, 1, 3})
        storeToPage(file, page, 8);
    EXPECT_EQ(listed(file), (std::vector<int64_t>{0, 1, 3, 6}));
    EXPECT_FALSE(hasBlocks(6));
    ASSERT_EQ(file.commit(), 0);
    EXPECT_TRUE(hasBlocks(6));
    EXPECT_TRUE(hasBlocks(3));
    EXPECT_FALSE(hasBlocks(5));
}

TEST_F(Backing, OfAllPagesIsThereOrMissedByTheCallThatAsksForIt) {
    TrackedFile(path, Pages * Page).close();
    fallocate_error = ENOSPC;
    int status = TrackedFile(path, 0, SNAPSHOT_POPULATE).error();
    fallocate_error = 0;
    EXPECT_EQ(status, -ENOSPC);
    TrackedFile file(path, 0, SNAPSHOT_POPULATE);
    ASSERT_EQ(file.error(), 0);
    for (size_t page = 0; page < Pages; page++)
        EXPECT_TRUE(hasBlocks(page));
    storeToPage(file, 3, 1);
    EXPECT_EQ(listed(file), std::vector<int64_t>{}) << "none of them is asked for again";
}

TEST_F(Backing, OfAllPagesIsAskedForBehindTheGrowthOfTheFile) {
    TrackedFile(path, Page).close();
    fallocate_error = ENOSPC;
    int status = TrackedFile(path, Pages * Page, SNAPSHOT_POPULATE).error();
    fallocate_error = 0;
    EXPECT_EQ(status, -ENOSPC);
    TrackedFile file(path, Pages * Page, SNAPSHOT_POPULATE);
    ASSERT_EQ(file.error(), 0);
    for (size_t page = 0; page < Pages; page++)
        EXPECT_TRUE(hasBlocks(page));
}

// A thread finds no room for the log while another one lets it grow: the other's entries there stay.
TEST_F(Backing, OfTheLogIsNotTakenFromAThreadByAnotherThatFindsNone) {
    constexpr size_t lines = 4096;
    TrackedFile file(path, 2 * 64 * lines, SNAPSHOT_PROTOCOL_UNDO);
    ASSERT_EQ(file.error(), 0);
    std::atomic<bool> goes_on = false, done = false;
    std::atomic<pid_t> tid = 0;
    auto store = [&](size_t begin, size_t count) {
        for (size_t line = begin; line < begin + count; line++)
            trackedStore(file.working() + 64 * line, line + 1);
    };
    log_grows = false;
    std::thread fails([&] {
        growth_waits_for = &goes_on;
        store(0, lines);
        growth_waits_for = nullptr;
    });
    while (!log_grows)
        std::this_thread::yield();
    std::thread grows([&] {
        tid = static_cast<pid_t>(syscall(SYS_gettid));
        store(lines, 64);
        done = true;
    });
    EXPECT_TRUE(awaitSleep(tid, &done)) << "two threads let the log grow";
    fallocate_error = ENOSPC;
    goes_on = true;
    fails.join();
    grows.join();
    fallocate_error = 0;
    ASSERT_EQ(std::filesystem::file_size(path + ".snapshot-log"), file.mapping().log_bytes);
    EXPECT_EQ(file.commit(), 0);
}

class Ends : public FileTest, public testing::WithParamInterface<Protocol> {};

// Others may write the closed file, and its log must not take that back after a power cut.
TEST_P(Ends, LeaveNothingThatIsNotFenced) {
    TrackedFile file(path, Pages * Page, GetParam().flag);
    ASSERT_EQ(file.error(), 0);
    Recorder trace;
    recorder = &trace;
    trackedStore(file.working() + 3 * Page, 5);
    EXPECT_EQ(file.commit(), 0);
    EXPECT_EQ(snapshot_resize(file.working(), 2 * Page), 0);
    ASSERT_EQ(trace.resizes.size(), 1u);
    EXPECT_EQ(trace.events.at(trace.resizes[0].position - 1).target, nullptr) << "a cut before its log is durable";
    trackedStore(file.working(), 5);
    EXPECT_EQ(file.commit(), 0);
    file.close();
    recorder = nullptr;
    EXPECT_EQ(trace.events.back().target, nullptr) << "an end before the log is durable";
}

INSTANTIATE_TEST_SUITE_P(Protocols, Ends, testing::ValuesIn(Protocols), [](const auto &of) {
    std::string name = of.param.name;
    std::erase(name, '-');
    return name;
});

} // namespace
