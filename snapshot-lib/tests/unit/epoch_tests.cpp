// SPDX-License-Identifier: BSD-3-Clause
//
// Epochs: the exact cost of a checkpoint; its waits, and their length; refusals, and the state after them.
#include <sys/wait.h>

#include <atomic>
#include <gtest/gtest.h>
#include <latch>
#include <semaphore>
#include <set>
#include <thread>

#include "costs_test.hpp"

namespace {

constexpr size_t Bytes = 1 << 18;

// Stands still but when it is moved, or moves a millisecond each time somebody looks.
std::atomic<uint64_t> clock_ns;
uint64_t stillNs() { return clock_ns; }
uint64_t movingNs() { return clock_ns += 1000000; }

// There when the file of the test is made.
class FolderFirst : public Costs {
  protected:
    FolderFirst() { OwnFolder::SetUp(); }
};

class Epochs : public FolderFirst {
  protected:
    void SetUp() override { ASSERT_EQ(file.error(), 0); }

    TrackedFile file{path("epoch"), Bytes, SNAPSHOT_PROTOCOL_EPOCH};

    int start(uint64_t period_ns, unsigned flags = 0, uint64_t (*now_ns)() = nullptr,
              uint64_t timeout_ns = 10000000000) {
        struct snapshot_epochs options{};
        options.period_ns = period_ns;
        options.timeout_ns = timeout_ns;
        options.flags = flags;
        options.now_ns = now_ns;
        return snapshot_epochs_start(file.working(), &options);
    }

    struct snapshot_epochs_stats counted() const {
        struct snapshot_epochs_stats stats{};
        EXPECT_EQ(snapshot_epochs_get_stats(file.working(), &stats), 0);
        return stats;
    }

    // The state after a power cut now, recovered.
    uint64_t recovered(size_t offset) const {
        Image image = file.image();
        struct recovery result{};
        struct log_view log = {image.logBytes(), image.logSize()};
        EXPECT_EQ(recover(log, image.dataBytes(), Bytes, &protocol_line, &result), 0);
        return word(image.dataBytes() + offset);
    }

    int point() { return snapshot_epoch_point(file.working()); }
};

TEST_F(Epochs, ACheckpointTakesOneFenceAndAReplayAnother) {
    EXPECT_EQ(commitCost(file, 0, 1), (Cost{1, 2, 0}));
    EXPECT_EQ(commitCost(file, 1, 10), (Cost{1, 11, 0}));
    EXPECT_EQ(commitCost(file, 10, 11), (Cost{1, 13, 0}));
    EXPECT_EQ(commitCost(file, 1000, 1000), (Cost{2, 1100, 1})) << "room for the fourth is made by a replay";
    EXPECT_EQ(commitCost(file, 1000, 1), (Cost{2, 2, 10}));
    EXPECT_EQ(counted().waits_for_room, 2u);
    Cost replay = measure(file, [&] { EXPECT_EQ(snapshot_epochs_replay(file.working()), 0); });
    EXPECT_EQ(replay, (Cost{3, 0, 11 + 1000 + 1}));
    EXPECT_EQ(commitCost(file, 0, 0), (Cost{0, 0, 0}));
    struct snapshot_epochs_stats stats = counted();
    EXPECT_EQ(stats.checkpoints, 5u);
    EXPECT_EQ(stats.replayed_epochs, 5u);
    EXPECT_EQ(stats.replayed_lines, 1u + 10 + 11 + 1000 + 1);
    EXPECT_EQ(stats.epoch_replayed, stats.epoch_durable);
}

TEST_F(Epochs, AfterAStopNoCheckpointIsDue) {
    ASSERT_EQ(start(1000, 0, stillNs), 0);
    store(file, 0, 1);
    ASSERT_EQ(snapshot_epochs_stop(file.working()), 0);
    clock_ns += 5000;
    EXPECT_EQ(point(), 0);
    EXPECT_EQ(counted().checkpoints, 0u);
}

TEST_F(Epochs, EachThreadWritesAndFencesItsOwnList) {
    constexpr unsigned Others = 3;
    std::latch stored(Others + 1);
    std::atomic<bool> done = false;
    std::vector<std::thread> others;
    Recorder trace;
    recorder = &trace;
    for (unsigned thread = 1; thread <= Others; thread++)
        others.emplace_back([&, thread] {
            store(file, 100 * thread, 20 + thread);
            stored.arrive_and_wait();
            for (; !done; std::this_thread::yield())
                EXPECT_EQ(point(), 0);
        });
    store(file, 0, 20);
    stored.arrive_and_wait();
    EXPECT_EQ(file.commit(), 0);
    done = true;
    for (std::thread &other : others)
        other.join();
    recorder = nullptr;
    EXPECT_EQ(trace.fences(), 1 + Others);
    EXPECT_EQ(trace.lines(), lineBlocks(20) + lineBlocks(21) + lineBlocks(22) + lineBlocks(23));
    EXPECT_EQ(file.stats().fences, 2 + 1 + Others) << "two of opening";
    EXPECT_EQ(counted().lists_written, 1 + Others);
    std::set<unsigned> writers, fencers;
    for (const PersistEvent &event : trace.events)
        (event.target ? writers : fencers).insert(event.thread);
    EXPECT_EQ(writers.size(), 1 + Others);
    EXPECT_EQ(writers, fencers);
}

TEST_F(Epochs, BadOptionsAreRefused) {
    EXPECT_EQ(start(0), -EINVAL) << "an epoch of no length";
    EXPECT_EQ(start(1, 0, nullptr, 0), -EINVAL) << "no time to wait";
    EXPECT_EQ(start(1, 2), -EINVAL) << "a flag of another version";
    EXPECT_EQ(snapshot_epochs_start(file.working(), nullptr), -EINVAL);
    struct snapshot_epochs options{};
    struct snapshot_epochs_stats stats{};
    EXPECT_EQ(snapshot_epochs_start(&options, &options), -EINVAL) << "no mapping";
    EXPECT_EQ(snapshot_epoch_point(&options), -EINVAL);
    EXPECT_EQ(snapshot_epoch_enter(&options), -EINVAL);
    EXPECT_EQ(snapshot_epochs_get_stats(&options, &stats), -EINVAL);
    EXPECT_EQ(start(1), 0);
    EXPECT_EQ(start(1), -EALREADY);
    EXPECT_EQ(snapshot_epochs_stop(file.working()), 0);
    EXPECT_EQ(start(1), 0);
}

TEST_F(Epochs, FilesOfOtherProtocolsHaveNone) {
    TrackedFile redo(path("redo"), Bytes, SNAPSHOT_PROTOCOL_REDO);
    struct snapshot_epochs options{};
    struct snapshot_epochs_stats stats{};
    EXPECT_EQ(snapshot_epochs_start(redo.working(), &options), -EOPNOTSUPP);
    EXPECT_EQ(snapshot_epoch_point(redo.working()), -EOPNOTSUPP);
    EXPECT_EQ(snapshot_epoch_idle(redo.working(), true), -EOPNOTSUPP);
    EXPECT_EQ(snapshot_epochs_replay(redo.working()), -EOPNOTSUPP);
    EXPECT_EQ(snapshot_epochs_get_stats(redo.working(), &stats), -EOPNOTSUPP);
}

TEST_F(Epochs, AForkedChildMakesNone) {
    start(1, SNAPSHOT_REPLAY_BACKGROUND);
    store(file, 0, 1);
    pid_t child = fork();
    if (child == 0) {
        bool refused = file.commit() == -EPERM && point() == -EPERM && snapshot_epochs_stop(file.working()) == -EPERM;
        file.close();
        _exit(refused ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(file.commit(), 0);
}

TEST_F(Epochs, AThreadThatNeverComesToAPointIsWaitedForUntilTheTimeIsOver) {
    std::binary_semaphore stored(0), leave(0);
    ASSERT_EQ(start(SNAPSHOT_EPOCHS_BY_CALL, 0, movingNs, 50000000), 0);
    std::thread silent([&] {
        store(file, 10, 1); // and so it has entered
        stored.release();
        leave.acquire();
    });
    stored.acquire();
    store(file, 20, 1);
    Cost cost = measure(file, [&] { EXPECT_EQ(file.commit(), -ETIMEDOUT); });
    EXPECT_EQ(cost, (Cost{0, 0, 0})) << "nothing was changed";
    EXPECT_EQ(counted().timeouts, 1u);
    EXPECT_EQ(counted().checkpoints, 0u);
    leave.release();
    silent.join();
    EXPECT_EQ(file.commit(), 0) << "the end of a thread is a point";
    EXPECT_EQ(recovered(10 * 64), 11u);
    EXPECT_EQ(recovered(20 * 64), 21u);
}

TEST_F(Epochs, AnIdleThreadIsNotWaitedFor) {
    std::binary_semaphore rests(0), leave(0);
    ASSERT_EQ(start(SNAPSHOT_EPOCHS_BY_CALL, 0, movingNs, 50000000), 0);
    std::thread idle([&] {
        store(file, 10, 1);
        EXPECT_EQ(snapshot_epoch_idle(file.working(), true), 0);
        rests.release();
        leave.acquire();
        EXPECT_EQ(snapshot_epoch_idle(file.working(), false), 0);
        EXPECT_EQ(snapshot_epoch_leave(file.working()), 0);
    });
    rests.acquire();
    EXPECT_EQ(file.commit(), 0);
    EXPECT_EQ(recovered(10 * 64), 11u);
    leave.release();
    idle.join();
}

TEST_F(Epochs, ARollbackIsRefusedWhileAnotherThreadStores) {
    std::binary_semaphore entered(0), leave(0);
    store(file, 5, 1);
    std::thread other([&] {
        snapshot_epoch_enter(file.working());
        entered.release();
        leave.acquire();
    });
    entered.acquire();
    EXPECT_EQ(snapshot_rollback(file.working()), -EBUSY);
    EXPECT_EQ(word(file, 5 * 64), 6u) << "nothing was changed";
    leave.release();
    other.join();
    EXPECT_EQ(snapshot_rollback(file.working()), 0);
    EXPECT_EQ(word(file, 5 * 64), 0u);
}

TEST_F(Epochs, APointMakesTheCheckpointThatIsDue) {
    ASSERT_EQ(start(100, 0, stillNs), 0);
    store(file, 5, 1);
    clock_ns += 99;
    EXPECT_EQ(point(), 0);
    EXPECT_EQ(recovered(5 * 64), 0u) << "the epoch is not over";
    clock_ns += 1;
    EXPECT_EQ(point(), 0);
    EXPECT_EQ(recovered(5 * 64), 6u);
    store(file, 6, 1);
    clock_ns += 99;
    EXPECT_EQ(point(), 0);
    EXPECT_EQ(recovered(6 * 64), 0u) << "the next one began with the checkpoint";
    clock_ns += 1;
    EXPECT_EQ(snapshot_epoch_idle(file.working(), true), 0);
    EXPECT_EQ(recovered(6 * 64), 7u) << "becoming idle is a point";
    EXPECT_EQ(counted().checkpoints, 2u);
}

TEST_F(Epochs, TheBackgroundBringsWhatIsCommittedToTheFile) {
    ASSERT_EQ(start(SNAPSHOT_EPOCHS_BY_CALL, SNAPSHOT_REPLAY_BACKGROUND), 0);
    for (uint64_t round = 1; round <= 20; round++) {
        store(file, round, 30);
        ASSERT_EQ(file.commit(), 0);
    }
    EXPECT_EQ(snapshot_epochs_replay(file.working()), 0); // waits for it
    Image image = file.image();
    EXPECT_EQ(memcmp(image.dataBytes(), file.working(), Bytes), 0);
    EXPECT_EQ(counted().replayed_epochs, 20u);
    EXPECT_EQ(counted().replayed_lines, 600u);
}

TEST_F(Epochs, ALogDamagedBeforeItIsReplayedIsReportedAndNotReplayed) {
    store(file, 5, 1);
    ASSERT_EQ(file.commit(), 0);
    Mapping mapping = file.mapping();
    for (size_t at = LOG_CHUNKS_OFFSET; at < mapping.log_bytes; at += 8)
        if (word(mapping.log + at) == 6)
            const_cast<uint8_t *>(mapping.log)[at] ^= 1;
    EXPECT_EQ(snapshot_epochs_replay(file.working()), -EUCLEAN);
    EXPECT_EQ(word(file.image().dataBytes() + 5 * 64), 0u);
    EXPECT_EQ(snapshot_rollback(file.working()), -EUCLEAN);
    EXPECT_EQ(word(file, 5 * 64), 6u);
    EXPECT_EQ(snapshot_unmap(file.release()), -EUCLEAN);
}

TEST_F(Epochs, WhatACrashLeftIsReplayedWhenTheFileIsOpened) {
    for (uint64_t round = 1; round <= 6; round++) {
        store(file, round, 1);
        ASSERT_EQ(file.commit(), 0);
    }
    store(file, 100, 1);
    Image image = file.image();
    struct recovery result{};
    struct log_view log = {image.logBytes(), image.logSize()};
    ASSERT_EQ(recover(log, image.dataBytes(), Bytes, &protocol_line, &result), 0);
    EXPECT_EQ(result.lines_replayed, 3u);
    for (uint64_t round = 1; round <= 6; round++)
        EXPECT_EQ(word(image.dataBytes() + round * 64), round + 1);
    EXPECT_EQ(word(image.dataBytes() + 100 * 64), 0u) << "the epoch that had no checkpoint is lost";
}

// As it was closed: a word in each page, which is its number and one.
class LazyEpochs : public FolderFirst {
  protected:
    static constexpr size_t Page = 4096, Pages = Bytes / Page;

    void SetUp() override {
        TrackedFile file(path("lazy"), Bytes, SNAPSHOT_PROTOCOL_EPOCH);
        ASSERT_EQ(file.error(), 0);
        for (size_t page = 0; page < Pages; page++)
            trackedStore(file.working() + page * Page, page + 1);
        ASSERT_EQ(file.commit(), 0);
    }

    uint64_t pagesIn(const TrackedFile &file) const {
        struct snapshot_epochs_stats stats{};
        EXPECT_EQ(snapshot_epochs_get_stats(file.working(), &stats), 0);
        return stats.pages_in;
    }

    static constexpr unsigned Lazy = SNAPSHOT_PROTOCOL_EPOCH | SNAPSHOT_EPOCH_LAZY;
};

TEST_F(LazyEpochs, APageComesInAtItsFirstTouch) {
    TrackedFile file(path("lazy"), 0, Lazy);
    ASSERT_EQ(file.error(), 0);
    EXPECT_EQ(pagesIn(file), 0u);
    EXPECT_EQ(word(file, 5 * Page), 6u);
    EXPECT_EQ(word(file, 5 * Page + 64), 0u);
    EXPECT_EQ(pagesIn(file), 1u);
    trackedStore(file.working() + 7 * Page + 8, 70);
    EXPECT_EQ(word(file, 7 * Page), 8u) << "a store brings the rest of its page in";
    EXPECT_EQ(pagesIn(file), 2u);
    snapshot_log_range(file.working() + 9 * Page, 8); // and is never stored to
    for (unsigned i = 0; i < 5; i++) {
        trackedStore(file.working() + 7 * Page + 8, 71 + i);
        ASSERT_EQ(file.commit(), 0);
    }
    EXPECT_EQ(pagesIn(file), 3u);
    for (size_t page = 0; page < Pages; page++)
        EXPECT_EQ(word(file, page * Page), page + 1);
    EXPECT_EQ(pagesIn(file), Pages);
}

TEST_F(LazyEpochs, ARollbackAndTheEndNeedNoOtherPages) {
    {
        TrackedFile file(path("lazy"), 0, Lazy);
        ASSERT_EQ(file.error(), 0);
        trackedStore(file.working() + 3 * Page, 30);
        EXPECT_EQ(snapshot_rollback(file.working()), 0);
        EXPECT_EQ(word(file, 3 * Page), 4u);
        trackedStore(file.working() + 3 * Page, 31);
        EXPECT_EQ(file.commit(), 0);
        trackedStore(file.working() + 3 * Page, 32);
        EXPECT_EQ(pagesIn(file), 1u);
    }
    TrackedFile again(path("lazy"), 0, SNAPSHOT_PROTOCOL_EPOCH);
    for (size_t page = 0; page < Pages; page++)
        EXPECT_EQ(word(again, page * Page), page == 3 ? 31 : page + 1);
    EXPECT_EQ(pagesIn(again), 0u);
}

TEST_F(LazyEpochs, ASystemCallAndAForkedChildFindAllPages) {
    TrackedFile file(path("lazy"), 0, Lazy);
    ASSERT_EQ(file.error(), 0);
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    EXPECT_EQ(::write(pipes[1], file.working() + 6 * Page, 8), 8);
    uint64_t read_back = 0;
    EXPECT_EQ(::read(pipes[0], &read_back, 8), 8);
    EXPECT_EQ(read_back, 7u);
    close(pipes[0]);
    close(pipes[1]);
    pid_t child = fork();
    if (child == 0) {
        bool all = true;
        for (size_t page = 0; page < Pages; page++)
            all &= word(file, page * Page) == page + 1;
        file.close();
        _exit(all ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST_F(LazyEpochs, ThreadsThatTouchAPageAtOnceFindIt) {
    TrackedFile file(path("lazy"), 0, Lazy);
    ASSERT_EQ(file.error(), 0);
    constexpr size_t Threads = 2;
    std::atomic<size_t> arrived = 0;
    std::vector<std::thread> threads;
    for (size_t thread = 0; thread < Threads; thread++)
        threads.emplace_back([&] {
            for (size_t page = 0; page < Pages; page++) {
                arrived++;
                while (arrived < Threads * (page + 1))
                    std::this_thread::yield();
                EXPECT_EQ(word(file, page * Page), page + 1);
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(pagesIn(file), Pages) << "a page that two threads wait for counts once";
}

TEST_F(LazyEpochs, OtherProtocolsRefuse) {
    TrackedFile file(path("lazy"), 0, SNAPSHOT_PROTOCOL_REDO | SNAPSHOT_EPOCH_LAZY);
    EXPECT_EQ(file.error(), -EINVAL);
}

} // namespace
