// SPDX-License-Identifier: BSD-3-Clause
//
// Calls of the core that only a kernel module makes: extents, data from a source, outdated positions.
#include <gtest/gtest.h>

#include <cstring>

#include "mounted.hpp"
#include "operation.hpp"

namespace {

uint64_t newFile(struct tbfs *fs) {
    run(fs, {.kind = Operation::Create, .path = "/a"});
    return static_cast<uint64_t>(resolve(fs, "/a"));
}

TEST(Extents, AreWhatLiesTogetherAndIsMapped) {
    Medium medium = makeMedium(400, 24);
    Mounted mounted(medium, optionsOf(TBFS_DATA_INPLACE, 8));
    struct tbfs *fs = mounted.fs();
    uint64_t ino = newFile(fs), at = 0, mapped = 0;
    run(fs, {.kind = Operation::Write, .path = "/a", .offset = 3 * 4096 + 5, .bytes = 2 * 4096});
    run(fs, {.kind = Operation::Create, .path = "/b"});
    run(fs, {.kind = Operation::Write, .path = "/b", .bytes = 1});
    run(fs, {.kind = Operation::Write, .path = "/a", .offset = 6 * 4096, .bytes = 2 * 4096});
    struct tbfs_extent extent;
    ASSERT_EQ(tbfs_find_extent(fs, ino, 100, 20 * 4096, &extent), 0);
    EXPECT_EQ(extent.offset, 0u);
    EXPECT_EQ(extent.bytes, 3 * 4096u);
    ASSERT_EQ(tbfs_find_extent(fs, ino, 8 * 4096, 20 * 4096, &extent), 0);
    EXPECT_EQ(extent.bytes, 20 * 4096u);
    std::string content(8 * 4096, 0);
    for (; at < content.size(); at += extent.bytes) {
        ASSERT_EQ(tbfs_find_extent(fs, ino, at, content.size() - at, &extent), 0);
        if (extent.offset)
            memcpy(&content[at], fs->space.base + extent.offset, extent.bytes), mapped += extent.bytes;
    }
    std::string wanted(content.size(), 1);
    EXPECT_EQ(tbfs_read(fs, ino, 0, wanted.data(), wanted.size()), static_cast<int64_t>(wanted.size()));
    EXPECT_TRUE(content == wanted);
    EXPECT_EQ(mapped, 5 * 4096u);
    EXPECT_EQ(tbfs_find_extent(fs, ino, 4096, 1, &extent), 0);
    EXPECT_EQ(extent.bytes, 4096u);
    EXPECT_EQ(tbfs_find_extent(fs, ino, TBFS_FILE_BYTES_MAX, 1, &extent), -EFBIG);
    EXPECT_EQ(tbfs_find_extent(fs, TBFS_ROOT_INODE, 0, 1, &extent), -EISDIR);
}

// The first of two transactions is present, the second is not, and no block is lost.
TEST(Sources, ThatEndEarlyLeaveWhatWasWholeBefore) {
    for (enum tbfs_data data : {TBFS_DATA_INPLACE, TBFS_DATA_COW, TBFS_DATA_HYBRID}) {
        Medium medium = makeMedium(400, 24);
        Mounted mounted(medium, optionsOf(data, 8));
        struct tbfs *fs = mounted.fs();
        uint64_t ino = newFile(fs), part = TBFS_BLOCKS_PER_TRANSACTION * 4096;
        struct tbfs_source source = {[](void *context, uint64_t at, void *target, uint64_t bytes) {
                                         memset(target, 'z', bytes);
                                         return at + bytes > *static_cast<uint64_t *>(context) ? -EFAULT : 0;
                                     },
                                     &part};
        EXPECT_EQ(tbfs_write_from(fs, ino, 0, &source, 2 * part, 3), static_cast<int64_t>(part));
        uint64_t blocks = mounted.freeBlocks();
        part = 4096;
        EXPECT_EQ(tbfs_write_from(fs, ino, TBFS_BLOCKS_PER_TRANSACTION * 4096, &source, 2 * 4096, 3), -EFAULT);
        EXPECT_EQ(mounted.freeBlocks(), blocks);
        EXPECT_EQ(mounted.tree().at("/a").content, std::string(TBFS_BLOCKS_PER_TRANSACTION * 4096, 'z'));
        EXPECT_EQ(mounted.faults(), std::vector<std::string>());
    }
}

// The entry at a position has been merged into a longer one, and then been overwritten by a name.
TEST(Positions, OfBeforeAChangeFindTheEntriesThatAreLeft) {
    Medium medium = makeMedium(60, 24);
    Mounted mounted(medium, optionsOf(TBFS_DATA_INPLACE, 8));
    struct tbfs *fs = mounted.fs();
    for (const char *path : {"/a", "/b", "/c", "/d"})
        run(fs, {.kind = Operation::Create, .path = path});
    uint64_t position = 0, start = 0;
    struct tbfs_listed entry;
    ASSERT_EQ(tbfs_readdir(fs, TBFS_ROOT_INODE, &position, &entry), 1);
    uint64_t old = position;
    for (const char *path : {"/a", "/b", "/c"})
        run(fs, {.kind = Operation::Unlink, .path = path});
    run(fs, {.kind = Operation::Create, .path = "/" + std::string(30, '\x7f')});
    EXPECT_EQ(tbfs_readdir(fs, TBFS_ROOT_INODE, &position, &entry), -EUCLEAN);
    EXPECT_EQ(tbfs_readdir_seek(fs, TBFS_ROOT_INODE, &old), 0);
    EXPECT_EQ(tbfs_readdir(fs, TBFS_ROOT_INODE, &old, &entry), 1);
    EXPECT_EQ(std::string(entry.name.text, entry.name.bytes), "d");
    EXPECT_EQ(tbfs_readdir_seek(fs, TBFS_ROOT_INODE, &start), 0);
    EXPECT_EQ(start, 0u);
    uint64_t behind = UINT64_C(1) << 40;
    EXPECT_EQ(tbfs_readdir_seek(fs, TBFS_ROOT_INODE, &behind), 0);
    EXPECT_EQ(tbfs_readdir(fs, TBFS_ROOT_INODE, &behind, &entry), 0);
}

} // namespace
