// SPDX-License-Identifier: BSD-3-Clause
//
// What a program sees of Kyoto Cabinet's transactions, on its own log and on Snapshot.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "kyoto_store.hpp"

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

    std::string directory, path = directory + "/db";
    KyotoShape shape{GetParam(), 100, 1 << 20, 512};
};

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

INSTANTIATE_TEST_SUITE_P(Db, Kyoto, testing::Values(true, false),
                         [](const auto &info) { return info.param ? "Tree" : "Hash"; });
