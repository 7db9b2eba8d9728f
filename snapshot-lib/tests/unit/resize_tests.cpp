// SPDX-License-Identifier: BSD-3-Clause
//
// Files that change their size, place or log under the library.
#include <algorithm>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <vector>

#include "file_test.hpp"

namespace {

constexpr size_t Page = 4096;
using Bytes = std::vector<uint8_t>;

class Files : public FileTest {
  protected:
    static void writeFile(const std::string &path, const uint8_t *bytes, size_t size) {
        int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC); // no O_TRUNC: ext4 would write it out at once
        ASSERT_EQ(pwrite(fd, bytes, size, 0), static_cast<ssize_t>(size));
        ASSERT_EQ(ftruncate(fd, static_cast<off_t>(size)), 0);
        close(fd);
    }
};

TEST_F(Files, GrowthIsAtOnceAndZeroAndKeepsTheAddress) {
    TrackedFile file(path, 100);
    uint8_t *before = file.working();
    trackedStore(before + 8, 1);
    memset(before + 100, 0xee, Page - 100); // behind the end, within its page
    ASSERT_EQ(snapshot_resize(before, 3 * Page + 5), 0);
    EXPECT_EQ(std::filesystem::file_size(path), 3 * Page + 5);
    EXPECT_EQ(file.working(), before);
    EXPECT_EQ(word(file, 104), 0u);
    EXPECT_EQ(word(file, 2 * Page), 0u);
    trackedStore(before + 2 * Page, 2);
    EXPECT_EQ(file.commit(), 0);
    file.close();
    TrackedFile again(path, 0);
    EXPECT_EQ(word(again, 8), 1u); // stored before the growth, committed after it
    EXPECT_EQ(word(again, 104), 0u);
    EXPECT_EQ(word(again, 2 * Page), 2u);
}

TEST_F(Files, WhatWasCutIsZeroWhenTheFileGrowsAgain) {
    TrackedFile file(path, 4 * Page);
    for (size_t at : {size_t{0}, size_t{96}, 3 * Page})
        trackedStore(file.working() + at, 7);
    ASSERT_EQ(file.commit(), 0);
    trackedStore(file.working() + 8, 8);
    trackedStore(file.working() + 3 * Page, 9); // cut before it is committed
    ASSERT_EQ(snapshot_resize(file.working(), 90), 0);
    EXPECT_EQ(word(file, 96), 0u); // behind the end, in its page
    ASSERT_EQ(snapshot_resize(file.working(), 4 * Page), 0);
    EXPECT_EQ(word(file, 96), 0u);
    EXPECT_EQ(word(file, 3 * Page), 0u);
    EXPECT_EQ(word(file, 8), 8u);
    EXPECT_EQ(file.commit(), 0);
    file.close();
    TrackedFile again(path, 0);
    EXPECT_EQ(word(again, 0), 7u);
    EXPECT_EQ(word(again, 8), 8u);
    EXPECT_EQ(word(again, 96), 0u);
    EXPECT_EQ(word(again, 3 * Page), 0u);
}

TEST_F(Files, RollbackAfterAResizeTakesBackStoresAndKeepsTheSize) {
    TrackedFile file(path, Page);
    trackedStore(file.working(), 1);
    file.commit();
    trackedStore(file.working(), 2);
    ASSERT_EQ(snapshot_resize(file.working(), 2 * Page), 0);
    trackedStore(file.working() + Page, 3);
    EXPECT_EQ(snapshot_rollback(file.working()), 0);
    EXPECT_EQ(word(file, 0), 1u);
    EXPECT_EQ(word(file, Page), 0u);
    EXPECT_EQ(std::filesystem::file_size(path), 2 * Page);
}

TEST_F(Files, SizesThatCannotBe) {
    TrackedFile file(path, Page);
    EXPECT_EQ(snapshot_resize(file.working(), 0), -EINVAL);
    EXPECT_EQ(snapshot_resize(file.working(), (size_t{1} << 30) + 1), -EFBIG);
    EXPECT_EQ(snapshot_resize(file.working(), size_t{1} << 30), 0);
    EXPECT_EQ(TrackedFile(path + "2", (size_t{1} << 38) + 1).error(), -EFBIG);
}

TEST_F(Files, MoreThanTwoGiB) {
    constexpr size_t size = (size_t{5} << 30) + 100;
    for (uint64_t round = 0; round < 2; round++) {
        TrackedFile file(path, size);
        ASSERT_EQ(file.error(), 0);
        for (size_t at : {size_t{0}, (size_t{1} << 31) - 8, (size_t{1} << 32) - 4, size - 8}) {
            EXPECT_EQ(word(file, at), round * (at + 1));
            trackedStore(file.working() + at, (round + 1) * (at + 1));
        }
        EXPECT_EQ(file.commit(), 0);
    }
}

TEST_F(Files, AddressOfLastTimeIsUsedAgain) {
    TrackedFile first(path, Page), second(path + "2", Page);
    uint8_t *place = second.working();
    second.close();
    first.close();
    TrackedFile again(path + "2", 0); // alone now, and first
    EXPECT_EQ(again.working(), place);
}

TEST_F(Files, FixedAddressThatIsTakenIsRefused) {
    TrackedFile first(path, Page);
    void *address = nullptr;
    EXPECT_EQ(snapshot_map((path + "2").c_str(), Page, SNAPSHOT_FIXED, first.working(), &address), -EEXIST);
    EXPECT_EQ(snapshot_map((path + "2").c_str(), Page, SNAPSHOT_FIXED, &address, &address), -EEXIST);
    uint8_t *place = first.working();
    first.close();
    ASSERT_EQ(snapshot_map((path + "2").c_str(), Page, SNAPSHOT_FIXED, place, &address), 0);
    EXPECT_EQ(address, place);
    snapshot_unmap(address);
}

TEST_F(Files, LogOfAnotherFileIsRefused) {
    for (const char *suffix : {"", "2"}) {
        TrackedFile file(path + suffix, Page);
        trackedStore(file.working(), 1);
        file.commit();
    }
    std::filesystem::rename(path + "2.snapshot-log", path + ".snapshot-log");
    EXPECT_EQ(TrackedFile(path, 0).error(), -ESTALE);
    void *address = nullptr;
    ASSERT_EQ(snapshot_map(path.c_str(), 0, SNAPSHOT_ADOPT, nullptr, &address), 0);
    snapshot_unmap(address);
    EXPECT_EQ(TrackedFile(path, 0).error(), 0); // it is its own from then on
}

TEST_F(Files, FileAndLogMayMoveTogether) {
    {
        TrackedFile file(path, Page);
        trackedStore(file.working(), 5);
        file.commit();
    }
    std::filesystem::rename(path, path + "-moved");
    std::filesystem::rename(path + ".snapshot-log", path + "-moved.snapshot-log");
    TrackedFile file(path + "-moved", 0);
    ASSERT_EQ(file.error(), 0);
    EXPECT_EQ(word(file, 0), 5u);
}

TEST_F(Files, LostLogOfAClosedFileLosesNothing) {
    {
        TrackedFile file(path, Page);
        trackedStore(file.working(), 5);
        file.commit();
    }
    std::filesystem::remove(path + ".snapshot-log");
    TrackedFile file(path, 0);
    ASSERT_EQ(file.error(), 0);
    EXPECT_EQ(word(file, 0), 5u);
}

TEST_F(Files, WhatOthersWriteToAClosedFileIsNotUndone) {
    {
        TrackedFile file(path, Page);
        trackedStore(file.working(), 5);
        file.commit();
    }
    {
        std::fstream other(path, std::ios::in | std::ios::out | std::ios::binary);
        other.write("abcdefgh", 8);
    }
    TrackedFile file(path, 0);
    ASSERT_EQ(file.error(), 0);
    EXPECT_EQ(memcmp(file.working(), "abcdefgh", 8), 0);
    EXPECT_EQ(file.stats().lines_undone, 0u);
}

// A resize in the middle of a transaction, cut at every persistence point. The file opens again with the old size or
// the new one and the last commit, extended with zeros; or, as a cut commits the transaction first, all of it.
class ResizeCrashes : public Files, public testing::WithParamInterface<std::pair<size_t, size_t>> {
  protected:
    void SetUp() override {
        Files::SetUp();
        crash_path = directory / "crash";
        TrackedFile(crash_path, Page).close();
    }

    static Bytes resized(Bytes bytes, size_t size) {
        bytes.resize(size, 0);
        return bytes;
    }

    void check(Image &image, size_t size, const std::vector<Bytes> &allowed) {
        writeFile(crash_path, image.dataBytes(), size);
        writeFile(crash_path + ".snapshot-log", image.logBytes(), image.logSize());
        TrackedFile file(crash_path, 0, SNAPSHOT_ADOPT);
        ASSERT_EQ(file.error(), 0) << "size " << size;
        Bytes found(file.working(), file.working() + size);
        EXPECT_TRUE(std::any_of(allowed.begin(), allowed.end(),
                                [&](const Bytes &bytes) { return resized(bytes, size) == found; }))
            << "size " << size;
        images++;
    }

    std::string crash_path;
    unsigned images = 0;
};

TEST_P(ResizeCrashes, LeaveAFileAndALogThatFit) {
    auto [old_size, new_size] = GetParam();
    TrackedFile file(path, old_size);
    for (size_t line = 0; line < old_size / 64; line += 3)
        trackedStore(file.working() + 64 * line, line + 1);
    ASSERT_EQ(file.commit(), 0);
    Bytes before(file.working(), file.working() + old_size);
    Image start = file.image();
    start.resizeData(std::max(old_size, new_size) + Page);
    Recorder trace;
    recorder = &trace;
    for (size_t line = 0; line < old_size / 64; line += 17)
        trackedStore(file.working() + 64 * line + 8, line + 100);
    Bytes after(file.working(), file.working() + old_size);
    ASSERT_EQ(snapshot_resize(file.working(), new_size), 0);
    recorder = nullptr;

    ASSERT_EQ(trace.resizes.size(), 1u);
    auto resize = trace.events.begin() + static_cast<ptrdiff_t>(trace.resizes[0].position);
    std::vector<PersistEvent> until(trace.events.begin(), resize), since(resize, trace.events.end());
    ASSERT_FALSE(until.back().target) << "something is under way while the file system resizes";
    bool grows = new_size > old_size;
    std::vector<Bytes> first = {before}, last = {grows ? before : after};
    if (!grows)
        first.push_back(after);
    Mapping mapping = file.mapping();
    mapping.data_bytes = start.dataSize();
    Image durable = start;
    const size_t samples = tracksPages() ? 1 : 12; // of a page all lines are under way, not one in three
    exploreCrashes(start, mapping, until, 6, samples, 1, [&](const Crash &crash, Image &image) {
        if (crash.is_last)
            durable = image;
        check(image, old_size, crash.is_last ? last : first);
    });
    std::fill(durable.dataBytes() + std::min(old_size, new_size), durable.dataBytes() + durable.dataSize(), 0);
    Bytes kept = resized(last[0], std::min(old_size, new_size));
    exploreCrashes(durable, mapping, since, 6, samples, 1,
                   [&](const Crash &, Image &image) { check(image, new_size, {kept}); });
    RecordProperty("images", static_cast<int>(images));
    EXPECT_GT(images, grows ? 10u : 100u);
}

INSTANTIATE_TEST_SUITE_P(Sizes, ResizeCrashes,
                         testing::Values(std::pair{2 * Page, 4 * Page}, std::pair{4 * Page, 2 * Page},
                                         std::pair{Page + 100, 2 * Page + 1}, std::pair{2 * Page + 72, Page + 9}));

} // namespace
