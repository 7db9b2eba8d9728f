// SPDX-License-Identifier: BSD-3-Clause
//
// SNAPSHOT_NODES: where the kernel was asked to put the pages of a working copy.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "runtime_under_test.hpp"

namespace {

class Placement : public testing::Test {
  protected:
    void SetUp() override { path = std::filesystem::temp_directory_path() / ("placed-" + std::to_string(getpid())); }
    void TearDown() override {
        unsetenv("SNAPSHOT_NODES");
        std::filesystem::remove(path);
        std::filesystem::remove(path + ".snapshot-log");
    }

    // The mode and the nodes of the page at an address, as get_mempolicy tells.
    static std::pair<int, uint64_t> policyOf(const void *address) {
        constexpr unsigned by_address = 2;
        int mode = -1;
        uint64_t nodes[16] = {};
        EXPECT_EQ(syscall(SYS_get_mempolicy, &mode, nodes, sizeof(nodes) * 8, address, by_address), 0);
        return {mode, nodes[0]};
    }

    std::string path;
};

constexpr int Default = 0, Bind = 2;

TEST_F(Placement, IsTheKernelsChoiceUnlessNodesAreNamed) {
    TrackedFile file(path, 8192);
    EXPECT_EQ(policyOf(file.working()).first, Default);
}

TEST_F(Placement, HoldsForAllPagesAlsoAfterGrowth) {
    setenv("SNAPSHOT_NODES", "0", 1);
    TrackedFile file(path, 8192);
    ASSERT_EQ(file.error(), 0);
    ASSERT_EQ(snapshot_resize(file.working(), 65536), 0);
    for (uint64_t at : {0, 4096, 8192, 61440})
        EXPECT_EQ(policyOf(file.working() + at), std::pair(Bind, uint64_t{1})) << at;
    trackedStore(file.working() + 60000, 7);
    EXPECT_EQ(file.commit(), 0);
    file.close();
    TrackedFile again(path, 0);
    EXPECT_EQ(again.working()[60000], 7);
}

TEST_F(Placement, OfNodesThatAreNotThereIsRefused) {
    for (const char *nodes : {"63", "64", "x", "0,", ",0", "-1", "0;1", "0 1"}) {
        setenv("SNAPSHOT_NODES", nodes, 1);
        TrackedFile file(path, 8192);
        EXPECT_EQ(file.error(), -EINVAL) << nodes;
    }
}

} // namespace
