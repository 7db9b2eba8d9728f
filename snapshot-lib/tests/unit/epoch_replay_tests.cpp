// SPDX-License-Identifier: BSD-3-Clause
//
// Several threads that replay, and calls that wait for the thread that does.
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "file_test.hpp"

namespace {

constexpr size_t Bytes = 1 << 18, Lines = Bytes / 64;

class EpochReplays : public FileTest {
  protected:
    void SetUp() override {
        FileTest::SetUp();
        file.emplace(path, Bytes, SNAPSHOT_PROTOCOL_EPOCH);
        ASSERT_EQ(file->error(), 0);
    }
    void TearDown() override {
        file.reset();
        FileTest::TearDown();
    }
    void commit(uint64_t value) {
        for (size_t line = 0; line < Lines; line++)
            trackedStore(file->working() + 64 * line, value);
        ASSERT_EQ(file->commit(), 0);
    }
    void startInBackground() {
        struct snapshot_epochs options{};
        options.period_ns = SNAPSHOT_EPOCHS_BY_CALL;
        options.timeout_ns = 10000000000;
        options.flags = SNAPSHOT_REPLAY_BACKGROUND;
        ASSERT_EQ(snapshot_epochs_start(file->working(), &options), 0);
    }
    struct snapshot_epochs_stats counted() const {
        struct snapshot_epochs_stats stats{};
        EXPECT_EQ(snapshot_epochs_get_stats(file->working(), &stats), 0);
        return stats;
    }

    std::optional<TrackedFile> file;
};

TEST_F(EpochReplays, OfSeveralThreadsBringEachEpochToTheFileOnce) {
    for (unsigned round = 1; round <= 4; round++) {
        for (unsigned i = 0; i < 3; i++)
            commit(3 * round + i);
        uint64_t before = counted().replayed_epochs;
        std::vector<std::thread> threads;
        for (unsigned thread = 0; thread < 4; thread++)
            threads.emplace_back([&] { EXPECT_EQ(snapshot_epochs_replay(file->working()), 0); });
        for (std::thread &thread : threads)
            thread.join();
        EXPECT_LE(before, 3 * round);
        EXPECT_EQ(counted().replayed_epochs, 3 * round);
        EXPECT_EQ(counted().replayed_lines, 3 * round * Lines);
        EXPECT_EQ(counted().epoch_replayed, counted().epoch_durable);
    }
}

// A cut commits by itself, and needs its commit in the file.
TEST_F(EpochReplays, InTheBackgroundAreNotMissedByACut) {
    startInBackground();
    commit(1);
    EXPECT_EQ(snapshot_epochs_replay(file->working()), 0);
    trackedStore(file->working() + 64, 2);
    EXPECT_EQ(snapshot_resize(file->working(), Bytes / 2), 0);
    EXPECT_EQ(word(file->image().dataBytes() + 64), 2u);
    EXPECT_EQ(counted().replayed_epochs, 2u);
}

TEST_F(EpochReplays, InTheBackgroundAreNotMissedByARollback) {
    startInBackground();
    commit(1);
    trackedStore(file->working() + 64, 2);
    EXPECT_EQ(snapshot_rollback(file->working()), 0);
    EXPECT_EQ(word(*file, 64), 1u);
}

} // namespace
