// SPDX-License-Identifier: BSD-3-Clause
//
// The placement of blocks of large files: 2 MiB are contiguous and aligned, so that a process can map them as one page.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "mounted.hpp"
#include "operation.hpp"

namespace {

constexpr uint64_t Large = 2 << 20, Block = TBFS_BLOCK_BYTES;
constexpr enum tbfs_data Policies[] = {TBFS_DATA_INPLACE, TBFS_DATA_COW, TBFS_DATA_HYBRID};

// The number of a file's parts of 2 MiB that are one aligned extent.
unsigned largePages(struct tbfs *fs, const std::string &path, uint64_t bytes) {
    unsigned found = 0;
    for (uint64_t at = 0; at + Large <= bytes; at += Large) {
        struct tbfs_extent extent = {};
        EXPECT_EQ(tbfs_find_extent(fs, static_cast<uint64_t>(resolve(fs, path)), at, Large, &extent), 0);
        found += extent.offset && extent.offset % Large == 0 && extent.bytes == Large;
    }
    return found;
}

// On a medium with an unaligned first free block.
class LargeFiles : public testing::TestWithParam<enum tbfs_data> {
  protected:
    LargeFiles() {
        for (const char *path : {"/a", "/small"})
            run(fs(), {.kind = Operation::Create, .path = path});
        write("/small", 0, 5 * Block);
    }
    struct tbfs *fs() { return mounted.fs(); }
    void write(const std::string &path, uint64_t at, uint64_t bytes) {
        ASSERT_EQ(run(fs(), {.kind = Operation::Write, .path = path, .offset = at, .bytes = bytes}),
                  static_cast<int64_t>(bytes));
    }
    unsigned pages(uint64_t bytes) { return largePages(fs(), "/a", bytes); }

    Medium medium = makeMedium(7 * 512, 24);
    Mounted mounted{medium, optionsOf(GetParam(), 8)};
};

TEST_P(LargeFiles, AreAlignedIfTheyAreAllocated) {
    run(fs(), {.kind = Operation::Fallocate, .path = "/a", .bytes = 2 * Large + Block});
    EXPECT_EQ(pages(2 * Large), 2u);
}

TEST_P(LargeFiles, AreAlignedIfTheirSizeIsKnownWhateverIsWrittenFirst) {
    run(fs(), {.kind = Operation::Truncate, .path = "/a", .offset = 2 * Large});
    std::vector<uint64_t> pages_left(2 * Large / Block);
    std::generate(pages_left.begin(), pages_left.end(), [n = 0u]() mutable { return n++; });
    std::ranges::shuffle(pages_left, std::minstd_rand(1));
    for (uint64_t index : pages_left)
        write("/a", index * Block, Block);
    EXPECT_EQ(pages(2 * Large), 2u);
}

// The first 2 MiB of a file lie anywhere, as they were allocated when the file was small.
TEST_P(LargeFiles, AreAlignedFromWhereTheyAreLargeWhenTheyGrowBesideOthers) {
    for (uint64_t at = 0; at < 3 * Large; at += 16 * Block) {
        write("/a", at, 16 * Block);
        write("/small", at / 16, Block);
    }
    EXPECT_EQ(pages(3 * Large), 2u);
    EXPECT_EQ(mounted.faults(), std::vector<std::string>());
}

TEST_P(LargeFiles, ThatLostAPageGetItBackWhereItWas) {
    run(fs(), {.kind = Operation::Fallocate, .path = "/a", .bytes = Large});
    for (uint64_t at : {uint64_t(0), 77 * Block}) {
        run(fs(), {.kind = Operation::Fallocate, .path = "/a", .flags = 3, .offset = at, .bytes = Block});
        EXPECT_EQ(pages(Large), 0u);
        write("/a", at, Block);
        EXPECT_EQ(pages(Large), 1u);
    }
}

TEST_P(LargeFiles, TakeAnyBlockIfNoPartOfTheMediumIsFreeAsAWhole) {
    uint64_t groups = medium.size() / Large, before = mounted.freeBlocks();
    for (uint64_t group = 1; group < groups; group++) {
        fs()->blocks.words[group * 8 + 3] |= 16; // one block of each group is in use
        fs()->blocks.free--;
    }
    run(fs(), {.kind = Operation::Fallocate, .path = "/a", .bytes = 2 * Large});
    EXPECT_EQ(pages(2 * Large), 0u);
    EXPECT_EQ(before - mounted.freeBlocks(), groups - 1 + 2 * 512 + 3); // and nodes
}

INSTANTIATE_TEST_SUITE_P(Policies, LargeFiles, testing::ValuesIn(Policies));

// Each write of a page takes a new block, so every second write returns to the first place.
TEST(LargeFilesOfCow, HaveAPageElsewhereAfterEveryOtherWrite) {
    Medium medium = makeMedium(4 * 512, 24);
    Mounted mounted(medium, optionsOf(TBFS_DATA_COW, 8));
    struct tbfs *fs = mounted.fs();
    run(fs, {.kind = Operation::Create, .path = "/a"});
    run(fs, {.kind = Operation::Fallocate, .path = "/a", .bytes = Large});
    for (unsigned wanted : {0u, 1u, 0u}) {
        run(fs, {.kind = Operation::Write, .path = "/a", .offset = 9 * Block, .bytes = 5});
        EXPECT_EQ(largePages(fs, "/a", Large), wanted);
    }
}

} // namespace
