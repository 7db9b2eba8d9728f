// SPDX-License-Identifier: BSD-3-Clause
//
// Invariants that the core checks at run time. Each one is broken here, by a direct call or a changed map. The call
// then fails, the invariant is reported once, later changes fail, and files can still be read.
#include <gtest/gtest.h>

#include "mounted.hpp"
#include "operation.hpp"

namespace {

constexpr uint64_t BytesOfPage = TBFS_BLOCK_BYTES;
std::vector<std::string> reports;

void report(struct tbfs *, const char *sentence, uint64_t) { reports.push_back(sentence); }

struct tbfs_options reporting(enum tbfs_data data = TBFS_DATA_INPLACE) {
    struct tbfs_options options = optionsOf(data, 8);
    options.report = report;
    return options;
}

uint8_t *inodeAt(struct tbfs *fs, uint64_t ino) {
    return fs->space.base + fs->super->inode_offset + ino * sizeof(struct tbfs_inode);
}

uint64_t inoOf(struct tbfs *fs) { return static_cast<uint64_t>(resolve(fs, "/a")); }

// The block of page 0 of the file, which is below a node.
uint64_t blockOf(struct tbfs *fs) {
    struct tbfs_extent extent = {};
    EXPECT_EQ(tbfs_find_extent(fs, inoOf(fs), 0, BytesOfPage, &extent), 0);
    return extent.offset / BytesOfPage;
}

void markFree(struct tbfs *fs, uint64_t block) { fs->blocks.words[block / 64] &= ~(1ull << block % 64); }

int64_t write(struct tbfs *fs) { return run(fs, {.kind = Operation::Write, .path = "/a", .bytes = 10, .now = 3000}); }

struct Case {
    const char *sentence;
    int64_t (*breaks)(struct tbfs *fs);
    enum tbfs_data data = TBFS_DATA_INPLACE;
};

// The name of a test: the addresses in a Case would be printed without this.
void PrintTo(const Case &one, std::ostream *to) { *to << one.sentence; }

const Case cases[] = {
    {"a transaction has too many pieces",
     [](struct tbfs *fs) -> int64_t {
         for (unsigned i = 0; i <= TBFS_PIECES_MAX; i++)
             tx_write8(fs, inodeAt(fs, 1 + i), 1);
         return tx_commit(fs);
     }},
    {"a transaction has too many inodes",
     [](struct tbfs *fs) -> int64_t {
         for (unsigned i = 0; i <= TBFS_INODES_MAX; i++)
             tx_inode(fs, 1 + i)->uid = 7;
         return tx_commit(fs);
     }},
    {"a transaction takes too many blocks",
     [](struct tbfs *fs) -> int64_t {
         while (tx_take_block(fs, 0))
             ;
         return tx_commit(fs);
     }},
    {"a transaction takes too many blocks",
     [](struct tbfs *fs) -> int64_t {
         while (tx_take_log_block(fs, 512))
             ;
         return tx_commit(fs);
     }},
    {"a transaction makes too many nodes",
     [](struct tbfs *fs) -> int64_t {
         while (tx_take_node(fs))
             ;
         return tx_commit(fs);
     }},
    {"a transaction frees too many pages",
     [](struct tbfs *fs) -> int64_t {
         for (unsigned i = 0; i <= TBFS_BLOCKS_PER_TRANSACTION; i++)
             tx_give_page(fs, blockOf(fs) * BytesOfPage);
         return tx_commit(fs);
     }},
    {"a piece is longer than a log entry",
     [](struct tbfs *fs) -> int64_t {
         uint8_t bytes[TBFS_ENTRY_DATA_BYTES + 8] = {};
         tx_write(fs, inodeAt(fs, 5), bytes, sizeof(bytes));
         return tx_commit(fs);
     }},
    {"a change lies where recovery would refuse it, at",
     [](struct tbfs *fs) -> int64_t {
         tx_write8(fs, fs->journal.entries, 1);
         return tx_commit(fs);
     }},
    {"a change lies where recovery would refuse it, at",
     [](struct tbfs *fs) -> int64_t {
         tx_write8(fs, fs->space.base + fs->super->bytes, 1);
         return tx_commit(fs);
     }},
    {"a change lies in a free block, at",
     [](struct tbfs *fs) -> int64_t {
         tx_write8(fs, fs->space.base + fs->super->bytes - 8, 1);
         return tx_commit(fs);
     }},
    {"two changes overlap at",
     [](struct tbfs *fs) -> int64_t {
         uint64_t words[2] = {};
         tx_write(fs, inodeAt(fs, 5), words, sizeof(words));
         tx_write8(fs, inodeAt(fs, 5) + 8, 1);
         return tx_commit(fs);
     }},
    {"the journal's head is behind its tail, at",
     [](struct tbfs *fs) {
         fs->journal.head = fs->journal.tail + 1;
         return write(fs);
     }},
    {"the journal's tail is behind its end, at",
     [](struct tbfs *fs) {
         fs->journal.tail = fs->journal.capacity + 1;
         return write(fs);
     }},
    {"the journal is too short for a transaction of",
     [](struct tbfs *fs) {
         fs->journal.head = fs->journal.tail = fs->journal.capacity = 0;
         return write(fs);
     }},
    {"the journal's generation is",
     [](struct tbfs *fs) {
         fs->journal.generation = 0;
         return write(fs);
     }},
    {"a free block is changed or freed again, at",
     [](struct tbfs *fs) {
         markFree(fs, blockOf(fs));
         return run(fs, {.kind = Operation::Unlink, .path = "/a", .now = 3000});
     }},
    {"a free block is changed or freed again, at",
     [](struct tbfs *fs) {
         markFree(fs, blockOf(fs));
         return run(fs, {.kind = Operation::Truncate, .path = "/a", .now = 3000});
     }},
    {"a file has a free block, at",
     [](struct tbfs *fs) {
         markFree(fs, blockOf(fs));
         return run(fs, {.kind = Operation::Write, .path = "/a", .bytes = BytesOfPage, .now = 3000});
     },
     TBFS_DATA_COW},
    {"a log's block is freed again, at",
     [](struct tbfs *fs) -> int64_t {
         EXPECT_EQ(write(fs), 10);
         for (uint64_t i = 0; i < fs->blocks.count * 8 / 64; i++)
             fs->pieces[i] = 0;
         return tbfs_merge(fs, inoOf(fs), 0, BytesOfPage);
     },
     TBFS_DATA_HYBRID},
    {"a file has a free block, at",
     [](struct tbfs *fs) {
         markFree(fs, blockOf(fs));
         return write(fs);
     }},
    {"a file has a free block, at",
     [](struct tbfs *fs) {
         markFree(fs, blockOf(fs));
         return run(fs, {.kind = Operation::Truncate, .path = "/a", .offset = 100, .now = 3000});
     }},
};

class Invariant : public testing::TestWithParam<Case> {};

TEST_P(Invariant, ABrokenOneStopsAllChangesAndIsReported) {
    const struct tbfs_options options = reporting(GetParam().data);
    Medium medium = makeMedium(400, 200);
    Mounted mounted(medium, options);
    struct tbfs *fs = mounted.fs();
    ASSERT_EQ(run(fs, {.kind = Operation::Create, .path = "/a"}), 0);
    ASSERT_EQ(run(fs, {.kind = Operation::Create, .path = "/b"}), 0);
    Operation whole = {.kind = Operation::Write, .path = "/b", .bytes = 2 * BytesOfPage, .fill = 'b'};
    ASSERT_EQ(run(fs, whole), static_cast<int64_t>(2 * BytesOfPage));
    whole.path = "/a";
    ASSERT_EQ(run(fs, whole), static_cast<int64_t>(2 * BytesOfPage));
    reports.clear();

    EXPECT_EQ(GetParam().breaks(fs), -EUCLEAN);
    EXPECT_EQ(reports, std::vector<std::string>{GetParam().sentence});
    EXPECT_STREQ(fs->broken, GetParam().sentence);
    fs->read_only = false; // a remount does not help
    EXPECT_EQ(run(fs, {.kind = Operation::Create, .path = "/c"}), -EROFS);
    EXPECT_EQ(run(fs, {.kind = Operation::Unlink, .path = "/b"}), -EROFS);
    whole.path = "/b";
    EXPECT_EQ(run(fs, whole), -EROFS);
    EXPECT_EQ(run(fs, {.kind = Operation::Truncate, .path = "/b"}), -EROFS);
    EXPECT_EQ(run(fs, {.kind = Operation::Read, .path = "/b", .bytes = 2 * BytesOfPage}), sumOf(contentOf(whole)));
    EXPECT_EQ(reports.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(All, Invariant, testing::ValuesIn(cases),
                         [](const auto &info) { return std::to_string(info.index); });

} // namespace
