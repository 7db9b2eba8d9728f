// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "runtime_under_test.hpp"

namespace {

class Runtime : public testing::Test {
  protected:
    void SetUp() override {
        directory = std::filesystem::temp_directory_path() / ("snapshot-test-" + std::to_string(getpid()));
        std::filesystem::remove_all(directory);
        std::filesystem::create_directories(directory);
        path = directory / "data";
    }
    void TearDown() override {
        recorder = nullptr;
        std::filesystem::remove_all(directory);
    }

    static uint64_t word(const TrackedFile &file, size_t offset) {
        uint64_t value;
        memcpy(&value, file.working() + offset, sizeof(value));
        return value;
    }

    void overwriteLog(off_t offset, uint64_t value) {
        std::fstream log(path + ".snapshot-log", std::ios::in | std::ios::out | std::ios::binary);
        log.seekp(offset);
        log.write(reinterpret_cast<char *>(&value), sizeof(value));
    }

    std::filesystem::path directory;
    std::string path;
};

TEST_F(Runtime, CommittedDataIsThereAfterReopeningAndTheRestIsNot) {
    {
        TrackedFile file(path, 4096);
        ASSERT_EQ(file.error(), 0);
        trackedStore(file.working() + 8, 11);
        EXPECT_EQ(file.commit(), 0);
        trackedStore(file.working() + 8, 12);
    }
    TrackedFile file(path, 0);
    EXPECT_EQ(word(file, 8), 11u);
    EXPECT_EQ(file.stats().lines_undone, 0u);
}

TEST_F(Runtime, CommitOfTwoLinesWritesSixLinesUnderTwoFences) {
    TrackedFile file(path, 4096);
    Recorder trace;
    recorder = &trace;
    trackedStore(file.working(), 1);
    trackedStore(file.working() + 8, 2); // same line: logged once
    trackedStore(file.working() + 1024, 3);
    EXPECT_EQ(trace.events.size(), 0u);
    file.commit();
    EXPECT_EQ(trace.fences(), 2u);
    EXPECT_EQ(trace.lines(), 3u + 3u); // header and two old lines; two new lines and the record
}

TEST_F(Runtime, FencesDoNotDependOnTheSizeOfTheTransaction) {
    for (unsigned lines : {1u, 10u, 11u, 100u, 1000u}) {
        TrackedFile file(path + std::to_string(lines), 65536);
        Recorder trace;
        recorder = &trace;
        for (unsigned i = 0; i < lines; i++)
            trackedStore(file.working() + 64 * i, i);
        ASSERT_EQ(file.commit(), 0);
        recorder = nullptr;
        EXPECT_EQ(trace.fences(), 2u);
        EXPECT_EQ(trace.lines(), 2 * lines + (lines + 9) / 10 + 1) << lines;
        EXPECT_EQ(file.stats().log_bytes + file.stats().data_bytes, 64 * trace.lines()) << lines;
    }
}

TEST_F(Runtime, CommitWithoutChangesWritesNothing) {
    TrackedFile file(path, 4096);
    trackedStore(file.working(), 1);
    file.commit();
    Recorder trace;
    recorder = &trace;
    EXPECT_EQ(file.commit(), 0);
    EXPECT_TRUE(trace.events.empty());
}

TEST_F(Runtime, RollbackTakesBackEverythingSinceTheCommit) {
    TrackedFile file(path, 8192);
    trackedStore(file.working() + 100, 1);
    file.commit();
    trackedStore(file.working() + 100, 2);
    trackedStore(file.working() + 4000, 3);
    EXPECT_EQ(snapshot_rollback(file.working()), 0);
    EXPECT_EQ(word(file, 100), 1u);
    EXPECT_EQ(word(file, 4000), 0u);
    trackedStore(file.working() + 100, 4);
    EXPECT_EQ(file.commit(), 0);
    file.close();
    TrackedFile again(path, 0);
    EXPECT_EQ(word(again, 100), 4u);
    EXPECT_EQ(word(again, 4000), 0u);
}

TEST_F(Runtime, StoreAcrossLinesAndAtTheEndOfTheFile) {
    TrackedFile file(path, 4096);
    trackedStore(file.working() + 60, ~0ull);
    trackedStore(file.working() + 4088, 7);
    file.commit();
    file.close();
    TrackedFile again(path, 0);
    EXPECT_EQ(word(again, 60), ~0ull);
    EXPECT_EQ(word(again, 4088), 7u);
}

TEST_F(Runtime, RangeThatLeavesTheFileIsCutAtItsEnd) {
    TrackedFile file(path, 4096);
    snapshot_log_range(file.working() + 4000, SIZE_MAX);
    file.working()[4095] = 1;
    EXPECT_EQ(file.commit(), 0);
    EXPECT_EQ(file.stats().lines_logged, 2u);
    snapshot_log_range(file.working() + 10, 0);
    EXPECT_EQ(file.commit(), 0);
    EXPECT_EQ(file.stats().lines_logged, 2u);
}

TEST_F(Runtime, LogGrowsWithTheTransaction) {
    constexpr size_t bytes = 1 << 20;
    TrackedFile file(path, bytes);
    uint64_t before = file.stats().log_file_bytes;
    for (size_t offset = 0; offset < bytes; offset += 64)
        trackedStore(file.working() + offset, offset);
    EXPECT_EQ(file.commit(), 0);
    EXPECT_GT(file.stats().log_file_bytes, before);
    file.close();
    TrackedFile again(path, 0);
    for (size_t offset = 0; offset < bytes; offset += 64)
        ASSERT_EQ(word(again, offset), offset);
}

TEST_F(Runtime, FullDeviceFailsTheCommitBeforeAnythingChangesAndCanBeRetried) {
    constexpr size_t bytes = 1 << 20;
    TrackedFile file(path, bytes);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old_limit, limit;
    getrlimit(RLIMIT_FSIZE, &old_limit);
    limit = {file.stats().log_file_bytes, old_limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (size_t offset = 0; offset < bytes; offset += 64)
        trackedStore(file.working() + offset, offset + 1);
    EXPECT_EQ(file.commit(), -ENOSPC);
    Image unchanged = file.image();
    EXPECT_TRUE(std::all_of(unchanged.dataBytes(), unchanged.dataBytes() + bytes, [](uint8_t b) { return b == 0; }));
    setrlimit(RLIMIT_FSIZE, &old_limit);
    EXPECT_EQ(file.commit(), 0);
    file.close();
    TrackedFile again(path, 0);
    for (size_t offset = 0; offset < bytes; offset += 64)
        ASSERT_EQ(word(again, offset), offset + 1);
}

TEST_F(Runtime, FileThatIsMappedAlreadyIsBusy) {
    TrackedFile file(path, 4096);
    TrackedFile other(path, 4096);
    EXPECT_EQ(other.error(), -EBUSY);
}

TEST_F(Runtime, TwoFilesCommitApart) {
    TrackedFile first(path, 4096), second(path + "2", 4096);
    trackedStore(first.working(), 1);
    trackedStore(second.working(), 2);
    EXPECT_EQ(first.commit(), 0);
    first.close();
    second.close();
    TrackedFile first_again(path, 0), second_again(path + "2", 0);
    EXPECT_EQ(word(first_again, 0), 1u);
    EXPECT_EQ(word(second_again, 0), 0u);
}

TEST_F(Runtime, RegionsCanBeOpenedAndClosedMoreOftenThanThereAreSlots) {
    for (uint64_t i = 1; i <= 40; i++) {
        TrackedFile file(path, 4096);
        ASSERT_EQ(file.error(), 0);
        ASSERT_EQ(word(file, 0), i - 1);
        trackedStore(file.working(), i);
        ASSERT_EQ(file.commit(), 0);
    }
}

TEST_F(Runtime, LogOfADeletedFileIsNotAppliedToItsSuccessor) {
    {
        TrackedFile file(path, 4096);
        trackedStore(file.working(), 5);
        file.commit();
    }
    std::filesystem::remove(path);
    TrackedFile file(path, 8192);
    ASSERT_EQ(file.error(), 0);
    EXPECT_EQ(word(file, 0), 0u);
}

TEST_F(Runtime, EmptyFileIsRefused) { EXPECT_EQ(TrackedFile(path, 0).error(), -EINVAL); }

TEST_F(Runtime, LogOfAFileOfAnotherSizeIsRefused) {
    TrackedFile(path, 4096).commit();
    std::filesystem::resize_file(path, 8192);
    EXPECT_EQ(TrackedFile(path, 0).error(), -EINVAL);
}

TEST_F(Runtime, LogOfAnotherVersionOrByteOrderIsRefused) {
    TrackedFile(path, 4096).commit();
    overwriteLog(16, 0x0403020100000001);
    EXPECT_EQ(TrackedFile(path, 0).error(), -EINVAL);
}

TEST_F(Runtime, DamagedSuperblockIsReported) {
    TrackedFile(path, 4096).commit();
    overwriteLog(40, 1);
    EXPECT_EQ(TrackedFile(path, 0).error(), -EUCLEAN);
}

TEST_F(Runtime, TwoDamagedCommitRecordsAreReported) {
    TrackedFile(path, 4096).commit();
    overwriteLog(4096, 1);
    overwriteLog(4352, 1);
    EXPECT_EQ(TrackedFile(path, 0).error(), -EUCLEAN);
}

TEST_F(Runtime, DamagedLogOfTheLastCommitIsReported) {
    TrackedFile file(path, 4096);
    trackedStore(file.working(), 1);
    file.commit();
    Image image = file.image();
    for (size_t offset = 8192; offset < image.logSize(); offset += CHUNK_BYTES)
        image.logBytes()[offset + 70] ^= 1;
    struct recovery result{};
    EXPECT_EQ(recover({image.logBytes(), image.logSize()}, image.dataBytes(), image.dataSize(), &result), -EUCLEAN);
}

TEST_F(Runtime, TruncatedLogIsReported) {
    TrackedFile(path, 4096).commit();
    std::filesystem::resize_file(path + ".snapshot-log", 100);
    EXPECT_EQ(TrackedFile(path, 0).error(), -EUCLEAN);
}

TEST_F(Runtime, CallsOnOtherAddressesAreInvalid) {
    int local = 0;
    struct snapshot_stats stats;
    EXPECT_EQ(snapshot_sync(&local), -EINVAL);
    EXPECT_EQ(snapshot_rollback(&local), -EINVAL);
    EXPECT_EQ(snapshot_unmap(&local), -EINVAL);
    EXPECT_EQ(snapshot_get_stats(&local, &stats), -EINVAL);
    snapshot_log_range(&local, sizeof(local));
}

} // namespace
