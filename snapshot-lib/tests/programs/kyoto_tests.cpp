// SPDX-License-Identifier: BSD-3-Clause
//
// A program's view of Kyoto Cabinet's transactions, on its own log and on Snapshot.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>
#include <thread>

#include "killed.hpp"
#include "kyoto_store.hpp"

using programs::Acknowledged;
using programs::killedAfter;
using programs::KyotoShape;
using programs::KyotoStore;
using Contents = std::map<std::string, uint64_t>;

static Contents contentsOf(KyotoStore &store) {
    Contents contents;
    store.forEach([&](const std::string &key, uint64_t value) { contents[key] = value; });
    return contents;
}

class Kyoto : public testing::TestWithParam<bool> {
  protected:
    Kyoto() : directory(testing::TempDir() + "kyoto-" KYOTO_ENGINE "-" + std::to_string(getpid())) {
        std::filesystem::create_directories(directory);
    }
    ~Kyoto() override { std::filesystem::remove_all(directory); }

    void write(KyotoStore &store, int first, int last, uint64_t value) {
        for (int i = first; i < last; i++)
            store.set("key" + std::to_string(i), value);
    }

    // A transaction of one of two writers: a key of its own, and how many transactions it has made.
    static std::string keyOf(int writer, uint64_t round) {
        return "writer" + std::to_string(writer) + "-" + std::to_string(round % 20);
    }
    static std::string roundsKeyOf(int writer) { return "rounds" + std::to_string(writer); }

    static void writeRounds(KyotoStore &store, int writer, uint64_t rounds, std::atomic<uint64_t> &done) {
        for (uint64_t round = 0; round < rounds; round++) {
            store.begin();
            store.set(keyOf(writer, round), round);
            store.set(roundsKeyOf(writer), round + 1);
            store.commit(0);
            done = round + 1;
        }
    }

    static void writeWithTwo(KyotoStore &store, uint64_t rounds, Acknowledged<2> &acknowledged) {
        std::thread other([&] { writeRounds(store, 1, rounds, acknowledged.rounds[1]); });
        writeRounds(store, 0, rounds, acknowledged.rounds[0]);
        other.join();
    }

    // Both writers' keys are as after the transactions that they say they have made.
    static std::array<uint64_t, 2> expectWholeTransactions(KyotoStore &store) {
        std::array<uint64_t, 2> found{};
        Contents expected;
        for (int writer : {0, 1}) {
            store.get(roundsKeyOf(writer), found[writer]);
            for (uint64_t round = 0; round < found[writer]; round++)
                expected[keyOf(writer, round)] = round;
            if (found[writer])
                expected[roundsKeyOf(writer)] = found[writer];
        }
        EXPECT_EQ(contentsOf(store), expected);
        EXPECT_EQ(store.commits(), found[0] + found[1]);
        return found;
    }

    std::string directory, path = directory + "/db";
    KyotoShape shape{GetParam(), 100, 1 << 20, 512};
};

TEST_P(Kyoto, TwoWritersLoseNothing) {
    auto *acknowledged = Acknowledged<2>::make();
    {
        KyotoStore store(path, shape, true);
        writeWithTwo(store, 300, *acknowledged);
    }
    KyotoStore store(path, shape, false);
    EXPECT_EQ(expectWholeTransactions(store), (std::array<uint64_t, 2>{300, 300}));
}

TEST_P(Kyoto, AbortLeavesWhatWasCommitted) {
    KyotoStore store(path, shape, true);
    store.begin();
    write(store, 0, 200, 1);
    store.commit(0);
    Contents before = contentsOf(store);
    store.begin();
    write(store, 100, 400, 2);
    store.abort();
    EXPECT_EQ(contentsOf(store), before);
    EXPECT_EQ(store.commits(), 1u);
    store.begin();
    write(store, 300, 301, 3);
    store.commit(0);
    EXPECT_EQ(contentsOf(store).size(), 201u);
}

TEST_P(Kyoto, CommittedContentsAreThereAfterClosing) {
    Contents before;
    {
        KyotoStore store(path, shape, true);
        store.begin();
        write(store, 0, 500, 7);
        store.commit(0);
        before = contentsOf(store);
    }
    KyotoStore store(path, shape, false);
    EXPECT_EQ(contentsOf(store), before);
}

TEST_P(Kyoto, ClearedDatabaseIsEmptyAndUsable) {
    KyotoStore store(path, shape, true);
    store.begin();
    write(store, 0, 300, 1);
    store.commit(0);
    ASSERT_TRUE(store.database().clear());
    EXPECT_TRUE(contentsOf(store).empty());
    store.begin();
    write(store, 0, 300, 2);
    store.commit(0);
    EXPECT_EQ(contentsOf(store).size(), 300u);
}

TEST_P(Kyoto, FullMapIsRefusedUnderSnapshotOnly) {
    std::string problem = "none";
    {
        KyotoStore store(path, shape, true);
        try {
            store.begin();
            write(store, 0, 60000, 1);
            store.commit(0);
        } catch (const std::runtime_error &error) {
            problem = error.what();
        }
    }
    bool is_wal = std::string(KYOTO_ENGINE) == "wal";
    EXPECT_NE(problem.find(is_wal ? "none" : "larger tune_map"), std::string::npos) << problem;
    KyotoStore reopened(path, shape, false); // after a commit that failed, TreeDB can only be closed
    EXPECT_EQ(contentsOf(reopened).size(), is_wal ? 60000u : 0u);
}

#ifdef SURVIVES_KILL // Kyoto's own log does not: docs/results/programs.md
TEST_P(Kyoto, TwoWritersThatAreKilledLeaveWholeTransactions) {
    for (uint64_t least : {1, 40, 150}) {
        auto *acknowledged = Acknowledged<2>::make();
        int status = killedAfter(least, *acknowledged, [&] {
            KyotoStore store(path, shape, true);
            writeWithTwo(store, 1 << 20, *acknowledged);
        });
        ASSERT_EQ(status, -SIGKILL);
        KyotoStore store(path, shape, false);
        std::array<uint64_t, 2> found = expectWholeTransactions(store);
        for (int writer : {0, 1}) {
            EXPECT_GE(found[writer], acknowledged->rounds[writer]);
            EXPECT_LE(found[writer], acknowledged->rounds[writer] + 1);
        }
    }
}
#endif

INSTANTIATE_TEST_SUITE_P(Db, Kyoto, testing::Values(true, false),
                         [](const auto &info) { return info.param ? "Tree" : "Hash"; });
