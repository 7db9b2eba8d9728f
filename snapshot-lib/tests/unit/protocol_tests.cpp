// SPDX-License-Identifier: BSD-3-Clause
//
// The exact cost of each protocol: fences, lines to the log, lines to the file.
#include <gtest/gtest.h>
#include <latch>
#include <thread>

#include "costs_test.hpp"
#include "log/hash.h"

namespace {

constexpr size_t Bytes = 1 << 18;

// Entries of three words; 26 of them fill a block.
uint64_t entryBlocks(uint64_t stores) {
    uint64_t rest = stores % 26;
    return stores / 26 * 11 + (rest ? 1 + upward(3 * rest, 8) : 0);
}

TEST_F(Costs, LineTakesTwoFencesAndWritesEachLineTwice) {
    TrackedFile file(path("line"), Bytes, SNAPSHOT_PROTOCOL_LINE);
    for (uint64_t n : {1, 10, 11, 1000})
        EXPECT_EQ(commitCost(file, 0, n), (Cost{2, lineBlocks(n) + 1, n})) << n;
}

TEST_F(Costs, UndoTakesThreeFencesAndLogsEachStore) {
    for (auto [name, flag] : {Protocols[1], Protocols[2]}) {
        TrackedFile file(path(name), Bytes, flag);
        for (uint64_t n : {1, 10, 11, 26, 27, 1000})
            EXPECT_EQ(commitCost(file, 0, n), (Cost{3, entryBlocks(n) + 1, n})) << n;
        Cost twice = measure(file, [&] {
            store(file, 0, 2);
            store(file, 0, 2);
            file.commit();
        });
        EXPECT_EQ(twice, (Cost{3, entryBlocks(4) + 1, 2}));
    }
}

TEST_F(Costs, RedoTakesOneFenceAndWritesColdLinesToTheFileOneCommitLater) {
    TrackedFile file(path("redo"), Bytes, SNAPSHOT_PROTOCOL_REDO);
    EXPECT_EQ(commitCost(file, 0, 1), (Cost{1, 2, 0}));
    EXPECT_EQ(commitCost(file, 1, 10), (Cost{1, 11, 1}));
    EXPECT_EQ(commitCost(file, 10, 11), (Cost{1, 13, 9})) << "one of ten lines changed again";
    EXPECT_EQ(commitCost(file, 1000, 1000), (Cost{1, 1100, 11}));
    EXPECT_EQ(commitCost(file, 3000, 1), (Cost{1, 2, 1000}));
}

TEST_F(Costs, RedoNeverWritesAHotLineToTheFile) {
    TrackedFile file(path("redo"), Bytes, SNAPSHOT_PROTOCOL_REDO);
    for (unsigned i = 0; i < 20; i++)
        EXPECT_EQ(commitCost(file, 7, 3), (Cost{1, 4, 0}));
}

TEST_F(Costs, CommitWithoutChangesIsFree) {
    for (auto [name, flag] : Protocols) {
        TrackedFile file(path(name), Bytes, flag);
        commitCost(file, 0, 5);
        EXPECT_EQ(commitCost(file, 0, 0), (Cost{0, 0, 0})) << name;
    }
}

// The next commit's first fence is the declared one's last; redo has only one, so there it is one more.
TEST_F(Costs, DeclaredCommitLeavesItsLastFenceToTheNext) {
    const uint64_t declared[] = {1, 2, 2, 0}, next[] = {2, 3, 3, 2};
    for (size_t i = 0; i < std::size(Protocols); i++) {
        TrackedFile file(path(Protocols[i].name), Bytes, Protocols[i].flag);
        auto fences = [&](auto commit) { return measure(file, commit).fences; };
        store(file, 0, 3);
        EXPECT_EQ(fences([&] { file.declare(); }), declared[i]) << Protocols[i].name;
        store(file, 1, 3);
        EXPECT_EQ(fences([&] { file.commit(); }), next[i]) << Protocols[i].name;
        store(file, 1, 3);
        EXPECT_EQ(fences([&] { file.declare(); }), declared[i]) << Protocols[i].name;
        EXPECT_EQ(fences([&] { file.commit(); }), 1u) << Protocols[i].name;
    }
}

// Four threads of 25 lines each, with separate lists. Where threads log on their own, each block they finish
// takes them a fence.
TEST_F(Costs, SeveralThreads) {
    const Cost expected[] = {
        {2 + 4 * 2, 4 * (25 + 3) + 1, 100}, {3, 4 * 11 + 1, 100}, {3, 4 * 11 + 1, 100}, {1, 4 * (25 + 3), 0}};
    for (size_t i = 0; i < std::size(Protocols); i++) {
        TrackedFile file(path(Protocols[i].name), Bytes, Protocols[i].flag);
        Cost cost = measure(file, [&] {
            std::latch all(4); // a thread that ends early would leave its log to another
            std::vector<std::thread> threads;
            for (uint64_t thread = 0; thread < 4; thread++)
                threads.emplace_back([&, thread] {
                    store(file, 100 * thread, 25);
                    all.arrive_and_wait();
                });
            for (std::thread &thread : threads)
                thread.join();
            EXPECT_EQ(file.commit(), 0);
        });
        EXPECT_EQ(cost, expected[i]) << Protocols[i].name;
    }
}

// Five commits of 15 lines each, lines 7 to 14 in all of them; then one bit of the log of the commit so many epochs
// back.
class Damage : public Costs {
  protected:
    Image damaged(unsigned flag, uint32_t sets, uint64_t epochs_back) {
        TrackedFile file(path("damage"), 8192, flag);
        for (uint64_t commit = 1; commit <= 5; commit++) {
            states.emplace_back(file.working(), file.working() + 8192);
            store(file, 7 - commit, 15);
            trackedStore(file.working() + 4096, commit);
            EXPECT_EQ(file.commit(), 0);
        }
        states.emplace_back(file.working(), file.working() + 8192);
        Image image = file.image();
        uint64_t epoch = file.stats().recovered_epoch + 3 + 5 - epochs_back; // after opening, the first is 4
        EXPECT_EQ(reinterpret_cast<uint64_t *>(image.logBytes() + log_chunk_offset(sets, epoch, 0))[1], epoch);
        image.logBytes()[log_chunk_offset(sets, epoch, 0) + 70] ^= 1;
        return image;
    }

    static int recoverImage(Image &image) {
        struct recovery result{};
        return recover({image.logBytes(), image.logSize()}, image.dataBytes(), image.dataSize(), &protocol_line,
                       &result);
    }

    std::vector<std::vector<uint8_t>> states;
};

TEST_F(Damage, OfALogThatRedoNeedsIsReportedBeforeAnythingChanges) {
    for (uint64_t back : {1, 2}) {
        Image image = damaged(SNAPSHOT_PROTOCOL_REDO, 4, back);
        std::vector<uint8_t> before(image.dataBytes(), image.dataBytes() + 8192);
        EXPECT_EQ(recoverImage(image), -EUCLEAN) << back;
        EXPECT_EQ(memcmp(before.data(), image.dataBytes(), 8192), 0);
    }
}

TEST_F(Damage, OfTheLastLogOfRedoLooksLikeACommitThatDidNotFinish) {
    Image image = damaged(SNAPSHOT_PROTOCOL_REDO, 4, 0);
    ASSERT_EQ(recoverImage(image), 0);
    EXPECT_EQ(memcmp(states[4].data(), image.dataBytes(), 8192), 0);
}

TEST_F(Damage, OfAnOldLogOfRedoIsHarmless) {
    Image image = damaged(SNAPSHOT_PROTOCOL_REDO, 4, 3);
    ASSERT_EQ(recoverImage(image), 0);
    EXPECT_EQ(memcmp(states[5].data(), image.dataBytes(), 8192), 0);
}

TEST_F(Damage, OfTheLastLogOfLineIsReported) {
    Image image = damaged(SNAPSHOT_PROTOCOL_LINE, 3, 0);
    EXPECT_EQ(recoverImage(image), -EUCLEAN);
}

TEST(Hash, EveryWordOfALineCounts) {
    for (uint64_t place : {0, 1, 2, 7})
        for (uint64_t value = 0; value < 16; value++)
            for (size_t word = 0; word < 8; word++) {
                uint64_t words[8] = {value, value, value, value, value, value, value, value};
                uint64_t hash = line_hash(place, words);
                words[word] = 99;
                EXPECT_NE(line_hash(place, words), hash);
            }
}

} // namespace
