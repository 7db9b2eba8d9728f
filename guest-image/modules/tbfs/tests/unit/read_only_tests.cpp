// SPDX-License-Identifier: BSD-3-Clause
//
// A read-only mount stores nothing after its recovery, whichever call is made, and reads return the same content.
#include <gtest/gtest.h>

#include <functional>

#include "mounted.hpp"
#include "operation.hpp"

namespace {

constexpr uint32_t Later = 5;
constexpr uint64_t PageBytes = TBFS_BLOCK_BYTES;

// Each log is longer than `gc_read_bytes`, so a read of a writable `hybrid` mount merges it.
constexpr struct tbfs_options Hybrid =
    optionsOf(TBFS_DATA_HYBRID, 8, {512, 8, 2048, 1, TBFS_READ_REVERSE, TBFS_MULTI_CALL, 0, 0, 0});
constexpr struct tbfs_options Kinds[] = {optionsOf(TBFS_DATA_INPLACE, 8), optionsOf(TBFS_DATA_COW, 64), Hybrid};

// Files with and without logs, a link, and a folder.
Medium filled() {
    Medium medium = makeMedium(100, 24);
    Mounted mounted(medium, Hybrid);
    for (const Operation &operation : std::vector<Operation>{
             {.kind = Operation::Create, .path = "/a"},
             {.kind = Operation::Write, .path = "/a", .bytes = 3 * PageBytes + 700},
             {.kind = Operation::Write, .path = "/a", .offset = PageBytes + 9, .bytes = 1500, .fill = 'l'},
             {.kind = Operation::Create, .path = "/b"},
             {.kind = Operation::Write, .path = "/b", .bytes = 2 * PageBytes},
             {.kind = Operation::Symlink, .path = "/s", .other = "a"},
             {.kind = Operation::Mkdir, .path = "/d"},
         })
        EXPECT_GE(run(mounted.fs(), operation), 0) << describe(operation);
    return mounted.medium();
}

uint64_t storesOf(Mounted &mounted, const std::function<void()> &calls) {
    Recorder recording(mounted.fs()->space.base);
    recorder = &recording;
    calls();
    return recording.count(MediaEvent::Store) + recording.count(MediaEvent::NonTemporalStore);
}

uint64_t inodeOf(Mounted &mounted, const std::string &path) {
    return static_cast<uint64_t>(resolve(mounted.fs(), path));
}

// All calls that change no name, attribute or byte.
void lookAtAll(Mounted &mounted) {
    struct tbfs *fs = mounted.fs();
    struct tbfs_statfs room;
    struct tbfs_extent extent;
    uint64_t position = PageBytes;
    tbfs_statfs(fs, &room);
    EXPECT_EQ(tbfs_readdir_seek(fs, TBFS_ROOT_INODE, &position), 0);
    EXPECT_EQ(mounted.faults(), std::vector<std::string>());
    for (const char *path : {"/a", "/b"}) {
        EXPECT_EQ(tbfs_find_extent(fs, inodeOf(mounted, path), 0, 4 * PageBytes, &extent), 0);
        for (uint64_t bytes : {uint64_t{1}, 2 * PageBytes, 5 * PageBytes})
            EXPECT_GT(run(fs, {.kind = Operation::Read, .path = path, .bytes = bytes}), 0);
    }
    mounted.tree();
}

TEST(ReadOnly, MountsReadAllAndStoreNothing) {
    for (const struct tbfs_options &options : Kinds) {
        Medium medium = filled();
        Mounted mounted(medium, options), writable(medium, options);
        Tree tree = mounted.tree();
        mounted.fs()->read_only = true;
        EXPECT_EQ(storesOf(mounted, [&] { lookAtAll(mounted); }), 0u) << options.data;
        EXPECT_TRUE(mounted.tree() == tree);
        EXPECT_EQ(mounted.fs()->counters.merges, 0u);
        // The same calls on a writable mount: with logs they do store.
        EXPECT_EQ(storesOf(writable, [&] { lookAtAll(writable); }) > 0, options.data == TBFS_DATA_HYBRID);
    }
}

TEST(ReadOnly, MountsRefuseWhatWouldChangeSomething) {
    const std::vector<Operation> refused = {
        {.kind = Operation::Create, .path = "/n", .now = Later},
        {.kind = Operation::Mkdir, .path = "/n", .now = Later},
        {.kind = Operation::Symlink, .path = "/n", .other = "a", .now = Later},
        {.kind = Operation::Link, .path = "/a", .other = "/n", .now = Later},
        {.kind = Operation::Unlink, .path = "/a", .now = Later},
        {.kind = Operation::Rmdir, .path = "/d", .now = Later},
        {.kind = Operation::Rename, .path = "/a", .other = "/b", .now = Later},
        {.kind = Operation::Write, .path = "/a", .offset = PageBytes, .bytes = 10, .now = Later},
        {.kind = Operation::Write, .path = "/b", .bytes = 2 * PageBytes, .now = Later},
        {.kind = Operation::Truncate, .path = "/a", .offset = 5, .now = Later},
        {.kind = Operation::Fallocate, .path = "/b", .bytes = 9 * PageBytes, .now = Later},
        {.kind = Operation::SetMode, .path = "/a", .flags = 0600, .now = Later},
        {.kind = Operation::Touch, .path = "/a", .now = Later},
    };
    for (const struct tbfs_options &options : Kinds) {
        Medium medium = filled();
        Mounted mounted(medium, options);
        struct tbfs *fs = mounted.fs();
        Tree tree = mounted.tree();
        fs->read_only = true;
        uint64_t stores = storesOf(mounted, [&] {
            for (const Operation &operation : refused)
                EXPECT_EQ(run(fs, operation), -EROFS) << describe(operation);
            EXPECT_EQ(tbfs_merge(fs, inodeOf(mounted, "/a"), 0, 4 * PageBytes), -EROFS);
            EXPECT_EQ(tbfs_merge(fs, inodeOf(mounted, "/b"), 0, 2 * PageBytes), 0); // /b has no log
        });
        EXPECT_EQ(stores, 0u);
        EXPECT_TRUE(mounted.tree() == tree);
        fs->read_only = false;
        EXPECT_GE(run(fs, refused[0]), 0);
    }
}

// An open file has lost its name: the next mount removes it.
TEST(ReadOnly, MountsLeaveWhatHasLostItsNameToTheNextOne) {
    for (const struct tbfs_options &options : Kinds) {
        Medium medium = filled();
        Mounted mounted(medium, options);
        uint64_t orphan = 0, blocks = mounted.freeBlocks();
        ASSERT_EQ(tbfs_unlink(mounted.fs(), TBFS_ROOT_INODE, nameOf("b"), Later, &orphan), 0);
        ASSERT_NE(orphan, 0u);
        mounted.fs()->read_only = true;
        EXPECT_EQ(storesOf(mounted, [&] { EXPECT_EQ(tbfs_evict(mounted.fs(), orphan, Later), -EROFS); }), 0u);
        EXPECT_EQ(mounted.freeBlocks(), blocks);
        Medium after = mounted.medium();
        EXPECT_EQ(Mounted(after, options).freeBlocks(), blocks + 3); // its pages, and the node above them
    }
}

} // namespace
