// SPDX-License-Identifier: BSD-3-Clause
//
// On a full medium a call that needs space merges logs, and fails only if that frees none.
#include <gtest/gtest.h>

#include "mounted.hpp"
#include "operation.hpp"

namespace {

constexpr uint64_t BlockBytes = TBFS_BLOCK_BYTES;

constexpr struct tbfs_options optionsWith(unsigned log_block_bytes) {
    struct tbfs_hybrid hybrid = {};
    hybrid.log_block_bytes = log_block_bytes;
    hybrid.gc_read_bytes = TBFS_GC_NEVER;
    return optionsOf(TBFS_DATA_HYBRID, 8, hybrid);
}

int64_t writeTo(Mounted &mounted, const std::string &path, uint64_t offset, uint64_t bytes) {
    return run(mounted.fs(), {.kind = Operation::Write, .path = path, .offset = offset, .bytes = bytes});
}

// A full medium: /a has `logs` pages, each with a log; /d is empty; /filling takes the rest.
Medium full(const struct tbfs_options &options, uint64_t logs, const std::string &bare = "") {
    Medium medium = makeMedium(200, 24);
    Mounted mounted(medium, options);
    run(mounted.fs(), {.kind = Operation::Mkdir, .path = "/d"});
    run(mounted.fs(), {.kind = Operation::Create, .path = "/a"});
    writeTo(mounted, "/a", 0, std::max(logs, uint64_t{1}) * BlockBytes);
    for (uint64_t page = 0; page < logs; page++)
        EXPECT_EQ(writeTo(mounted, "/a", page * BlockBytes + 100, 300), 300);
    if (!bare.empty()) {
        run(mounted.fs(), {.kind = Operation::Create, .path = bare});
        EXPECT_EQ(writeTo(mounted, bare, 0, 50), 50);
    }
    run(mounted.fs(), {.kind = Operation::Create, .path = "/filling"});
    for (uint64_t at = 0; mounted.freeBlocks() > 0; at += BlockBytes)
        writeTo(mounted, "/filling", at, BlockBytes);
    EXPECT_EQ(mounted.fs()->counters.merges, 0u);
    return mounted.medium();
}

// 20 logs of one block each take 20 blocks, or 3 divided ones.
TEST(Room, IsAllThatLogsHadTaken) {
    constexpr uint64_t Logs = 20;
    for (unsigned log_block_bytes : {4096u, 512u}) {
        struct tbfs_options options = optionsWith(log_block_bytes);
        Medium medium = full(options, Logs);
        Mounted mounted(medium, options);
        std::string content = mounted.tree().at("/a").content;
        uint64_t pages = 0, end = mounted.tree().at("/filling").content.size();
        while (writeTo(mounted, "/filling", end + pages * BlockBytes, BlockBytes) > 0)
            pages++;
        EXPECT_EQ(pages, log_block_bytes == 4096 ? Logs : 3);
        EXPECT_EQ(mounted.fs()->counters.merges, Logs);
        EXPECT_EQ(mounted.fs()->pieces_used, 0u);
        EXPECT_EQ(mounted.freeBlocks(), 0u);
        EXPECT_TRUE(mounted.tree().at("/a").content == content);
        EXPECT_EQ(mounted.faults(), std::vector<std::string>());
        Medium after = mounted.medium();
        Mounted again(after, options);
        EXPECT_TRUE(again.tree() == mounted.tree());
        EXPECT_EQ(again.freeBlocks(), 0u);
    }
}

TEST(Room, IsMadeForEachCallThatNeedsIt) {
    const struct tbfs_options options = optionsWith(4096);
    for (const Operation &operation : std::vector<Operation>{
             {.kind = Operation::Create, .path = "/d/n"},
             {.kind = Operation::Mkdir, .path = "/d/n"},
             {.kind = Operation::Symlink, .path = "/n", .other = "somewhere"},
             {.kind = Operation::Link, .path = "/a", .other = "/d/n"},
             {.kind = Operation::Rename, .path = "/a", .other = "/d/n"},
             {.kind = Operation::Write, .path = "/a", .bytes = BlockBytes},
             {.kind = Operation::Write, .path = "/filling", .offset = 5, .bytes = 100},
             {.kind = Operation::Fallocate, .path = "/a", .offset = 9 * BlockBytes, .bytes = 2 * BlockBytes},
         }) {
        Medium without = full(options, 0), with = full(options, 3);
        Mounted refused(without, options), mounted(with, options);
        EXPECT_EQ(run(refused.fs(), operation), -ENOSPC) << describe(operation);
        EXPECT_GE(run(mounted.fs(), operation), 0) << describe(operation);
        EXPECT_EQ(mounted.fs()->counters.merges, 3u) << describe(operation);
        EXPECT_EQ(mounted.faults(), std::vector<std::string>());
    }
}

// A merge as in a page fault: into the log's own block, or into a block that another log had.
TEST(Room, IsMadeForAMerge) {
    const struct tbfs_options options = optionsWith(4096);
    Medium medium = full(options, 2, "/bare");
    Mounted mounted(medium, options);
    struct tbfs *fs = mounted.fs();
    Tree tree = mounted.tree();
    auto merge = [&](const char *path) {
        return tbfs_merge(fs, static_cast<uint64_t>(resolve(fs, path)), 0, BlockBytes);
    };
    EXPECT_EQ(merge("/a"), 0);
    EXPECT_EQ(fs->counters.merges, 1u);
    EXPECT_EQ(mounted.freeBlocks(), 1u);
    EXPECT_EQ(writeTo(mounted, "/filling", tree.at("/filling").content.size(), BlockBytes),
              static_cast<int64_t>(BlockBytes));
    EXPECT_EQ(merge("/bare"), 0);
    EXPECT_EQ(fs->counters.merges, 3u);
    for (const char *path : {"/a", "/bare"})
        EXPECT_TRUE(mounted.tree().at(path).content == tree.at(path).content);
    EXPECT_EQ(mounted.faults(), std::vector<std::string>());
}

} // namespace
