// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <fstream>
#include <thread>
#include <vector>

#include "file_test.hpp"

extern "C" __typeof__(pthread_mutex_lock) __snapshot_libc_pthread_mutex_lock;
extern "C" __typeof__(pthread_mutex_unlock) __snapshot_libc_pthread_mutex_unlock;
extern "C" __typeof__(pthread_mutex_clocklock) __snapshot_libc_pthread_mutex_clocklock;
extern "C" __typeof__(pthread_rwlock_timedrdlock) __snapshot_libc_pthread_rwlock_timedrdlock;
extern "C" bool snapshot_test_is_inside(const void *address);

namespace {

// Under every protocol.
class Runtime : public FileTest, public testing::WithParamInterface<Protocol> {
  protected:
    void SetUp() override {
        setenv("SNAPSHOT_PROTOCOL", GetParam().name, 1);
        FileTest::SetUp();
    }

    void overwriteLog(off_t offset, uint64_t value) {
        std::fstream log(path + ".snapshot-log", std::ios::in | std::ios::out | std::ios::binary);
        log.seekp(offset);
        log.write(reinterpret_cast<char *>(&value), sizeof(value));
    }

    uint64_t page[512];
};

std::string protocolName(const testing::TestParamInfo<Protocol> &info) {
    std::string name = info.param.name;
    std::erase(name, '-');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Protocols, Runtime, testing::ValuesIn(Protocols), protocolName);

TEST_P(Runtime, CommittedDataIsThereAfterReopeningAndTheRestIsNot) {
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

TEST_P(Runtime, CommitWithoutChangesWritesNothing) {
    TrackedFile file(path, 4096);
    trackedStore(file.working(), 1);
    file.commit();
    Recorder trace;
    recorder = &trace;
    EXPECT_EQ(file.commit(), 0);
    EXPECT_TRUE(trace.events.empty());
}

TEST_P(Runtime, RollbackTakesBackEverythingSinceTheCommit) {
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

// Else each lock would cost the fast path of the stores that follow.
TEST_P(Runtime, ThreadThatNoCommitHasHeldStaysInsideAtALock) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    auto rest = [&] {
        __snapshot_libc_pthread_mutex_lock(&lock);
        __snapshot_libc_pthread_mutex_unlock(&lock);
    };
    TrackedFile file(path, 4096);
    for (uint64_t round = 1; round <= 2; round++) {
        trackedStore(file.working(), round);
        std::thread([&] { EXPECT_EQ(file.commit(), 0); }).join();
        EXPECT_TRUE(snapshot_test_is_inside(file.working()));
        rest();
        EXPECT_FALSE(snapshot_test_is_inside(file.working()));
        trackedStore(file.working(), 10 * round);
        rest();
        EXPECT_TRUE(snapshot_test_is_inside(file.working()));
    }
}

// A wrapper that tries the lock first must not accept what the C library rejects.
TEST(LocksOfLibc, RejectTheSameClocksAndTimes) {
    const timespec valid{}, invalid{0, 1'000'000'000};
    const clockid_t no_clock = 99;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    EXPECT_EQ(__snapshot_libc_pthread_mutex_clocklock(&mutex, no_clock, &valid), EINVAL);
    EXPECT_EQ(__snapshot_libc_pthread_rwlock_timedrdlock(&lock, &invalid), pthread_rwlock_timedrdlock(&lock, &invalid));
    EXPECT_EQ(__snapshot_libc_pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &valid), 0);
    EXPECT_EQ(__snapshot_libc_pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &valid), ETIMEDOUT);
}

TEST_P(Runtime, StoreAcrossLinesAndAtTheEndOfTheFile) {
    TrackedFile file(path, 4096);
    trackedStore(file.working() + 60, ~0ull);
    trackedStore(file.working() + 4088, 7);
    file.commit();
    file.close();
    TrackedFile again(path, 0);
    EXPECT_EQ(word(again, 60), ~0ull);
    EXPECT_EQ(word(again, 4088), 7u);
}

TEST_P(Runtime, RangeThatLeavesTheFileIsCutAtItsEnd) {
    TrackedFile file(path, 4096);
    snapshot_log_range(file.working() + 4000, SIZE_MAX);
    file.working()[4095] = 1;
    EXPECT_EQ(file.commit(), 0);
    EXPECT_EQ(file.stats().lines_logged, 2u);
    snapshot_log_range(file.working() + 10, 0);
    EXPECT_EQ(file.commit(), 0);
    EXPECT_EQ(file.stats().lines_logged, 2u);
}

TEST_P(Runtime, StoreBehindTheEndOfTheFileIsNotKeptAndDoesNoHarm) {
    {
        TrackedFile file(path, 4100);
        trackedStore(file.working() + 4096, 1);
        trackedStore(file.working() + 8000, 2);
        EXPECT_EQ(file.commit(), 0);
    }
    TrackedFile file(path, 0);
    ASSERT_EQ(file.error(), 0);
    EXPECT_EQ(word(file, 4096), 1u);
}

TEST_P(Runtime, FileThatWasClosedMayBeChangedByOthers) {
    {
        TrackedFile file(path, 4096);
        for (uint64_t i = 0; i < 5; i++) {
            trackedStore(file.working() + 64 * i, 1);
            ASSERT_EQ(file.commit(), 0);
        }
        trackedStore(file.working() + 100, 9);
    }
    std::ifstream(path).read(reinterpret_cast<char *>(page), sizeof(page));
    for (uint64_t i = 0; i < 5; i++)
        EXPECT_EQ(page[8 * i], 1u);
    uint64_t other = 7;
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).write(reinterpret_cast<char *>(&other), 8);
    TrackedFile file(path, 0);
    EXPECT_EQ(word(file, 0), 7u);
}

TEST_P(Runtime, PublishingBringsWhatIsCommittedToTheFileAndNothingElse) {
    TrackedFile file(path, 4096);
    std::vector<uint8_t> committed;
    for (uint64_t i = 1; i <= 5; i++) {
        for (uint64_t line = 0; line < 8; line += i)
            trackedStore(file.working() + 64 * line, i);
        committed.assign(file.working(), file.working() + 4096);
        ASSERT_EQ(i % 2 ? file.commit() : file.declare(), 0);
        trackedStore(file.working() + 64, 1000);
        snapshot_test_publish(file.working());
        Image image = file.image();
        ASSERT_EQ(memcmp(image.dataBytes(), committed.data(), 4096), 0) << i;
    }
}

TEST_P(Runtime, FileCanBeOpenedWithEachProtocolInTurn) {
    for (uint64_t i = 1; i < 9; i++) {
        TrackedFile file(path, 4096, Protocols[i % 4].flag);
        ASSERT_EQ(file.error(), 0);
        ASSERT_EQ(word(file, 8 * (i - 1)), i - 1);
        trackedStore(file.working() + 8 * i, i);
        ASSERT_EQ(file.commit(), 0);
    }
}

TEST_P(Runtime, RollbackFindsWhatOnlyTheLogsHave) {
    TrackedFile file(path, 8192);
    for (uint64_t commit = 1; commit <= 6; commit++) {
        for (uint64_t line = 0; line <= 5 * commit; line++)
            trackedStore(file.working() + 64 * line, 100 * commit + line);
        ASSERT_EQ(commit % 2 ? file.commit() : file.declare(), 0);
        std::vector<uint8_t> committed(file.working(), file.working() + 8192);
        for (uint64_t line = 0; line < 100; line += commit)
            trackedStore(file.working() + 64 * line, 5);
        snapshot_rollback(file.working());
        ASSERT_EQ(memcmp(file.working(), committed.data(), 8192), 0) << commit;
    }
}

TEST_P(Runtime, LogGrowsWithTheTransaction) {
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

TEST_P(Runtime, FullDeviceFailsTheCommitBeforeAnythingChangesAndCanBeRetried) {
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

TEST_P(Runtime, FileThatIsMappedAlreadyIsBusy) {
    TrackedFile file(path, 4096);
    TrackedFile other(path, 4096);
    EXPECT_EQ(other.error(), -EBUSY);
}

TEST_P(Runtime, TwoFilesCommitApart) {
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

TEST_P(Runtime, RegionsCanBeOpenedAndClosedMoreOftenThanThereAreSlots) {
    for (uint64_t i = 1; i <= 40; i++) {
        TrackedFile file(path, 4096);
        ASSERT_EQ(file.error(), 0);
        ASSERT_EQ(word(file, 0), i - 1);
        trackedStore(file.working(), i);
        ASSERT_EQ(file.commit(), 0);
    }
}

TEST_P(Runtime, LogOfADeletedFileIsNotAppliedToItsSuccessor) {
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

TEST_P(Runtime, EmptyFileIsRefused) { EXPECT_EQ(TrackedFile(path, 0).error(), -EINVAL); }

// Other programs may change a file that was closed; a file that was not closed has a log with work to do.
TEST_P(Runtime, LogFitsAFileOfAnotherSizeIfItAssertsNothing) {
    std::string log = path + ".snapshot-log", kept = path + ".kept";
    {
        TrackedFile file(path, 8192, GetParam().flag);
        for (int commit = 0; commit < 2; commit++) {
            for (size_t line = 0; line < 64; line++)
                trackedStore(file.working() + 64 * line, line + 1);
            std::filesystem::copy_file(log, kept, std::filesystem::copy_options::overwrite_existing);
            ASSERT_EQ(file.commit(), 0);
        }
    }
    for (size_t size : {12288u, 4096u}) {
        std::filesystem::resize_file(path, size);
        TrackedFile file(path, 0);
        ASSERT_EQ(file.error(), 0) << size;
        EXPECT_EQ(word(file, 63 * 64), 64u);
    }
    std::filesystem::rename(kept, log);
    std::filesystem::resize_file(path, 12288);
    EXPECT_EQ(TrackedFile(path, 0).error(), -EINVAL);
}

TEST_P(Runtime, LogOfAnotherVersionOrByteOrderIsRefused) {
    TrackedFile(path, 4096).commit();
    overwriteLog(16, 0x0403020100000002);
    EXPECT_EQ(TrackedFile(path, 0).error(), -EINVAL);
}

TEST_P(Runtime, DamagedSuperblockIsReported) {
    TrackedFile(path, 4096).commit();
    overwriteLog(40, 1);
    EXPECT_EQ(TrackedFile(path, 0).error(), -EUCLEAN);
}

TEST_P(Runtime, TwoDamagedCommitRecordsAreReported) {
    TrackedFile(path, 4096).commit();
    overwriteLog(4096, 1);
    overwriteLog(4352, 1);
    EXPECT_EQ(TrackedFile(path, 0).error(), -EUCLEAN);
}

TEST_P(Runtime, TruncatedLogIsReported) {
    TrackedFile(path, 4096).commit();
    std::filesystem::resize_file(path + ".snapshot-log", 100);
    EXPECT_EQ(TrackedFile(path, 0).error(), -EUCLEAN);
}

TEST_P(Runtime, CommitThatFindsAnEscapedStoreAbortsBeforeItChangesTheFile) {
    pid_t child = fork();
    if (child == 0) {
        const rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        setenv("SNAPSHOT_CHECK", "abort", 1);
        TrackedFile file(path, 4096);
        trackedStore(file.working() + 8, 11);
        file.working()[64] = 1;
        file.commit();
        _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
    EXPECT_EQ(word(TrackedFile(path, 0), 8), 0u);
}

TEST_P(Runtime, ProtocolThatThereIsNotIsRefused) {
    setenv("SNAPSHOT_PROTOCOL", "rodeo", 1);
    EXPECT_EQ(TrackedFile(path, 4096).error(), -EINVAL);
    EXPECT_EQ(TrackedFile(path, 4096, 15u << 8).error(), -EINVAL);
    EXPECT_EQ(TrackedFile(path, 4096, GetParam().flag).error(), 0);
}

TEST_P(Runtime, CallsOnOtherAddressesAreInvalid) {
    int local = 0;
    struct snapshot_stats stats;
    EXPECT_EQ(snapshot_sync(&local), -EINVAL);
    EXPECT_EQ(snapshot_rollback(&local), -EINVAL);
    EXPECT_EQ(snapshot_unmap(&local), -EINVAL);
    EXPECT_EQ(snapshot_get_stats(&local, &stats), -EINVAL);
    snapshot_log_range(&local, sizeof(local));
}

} // namespace
