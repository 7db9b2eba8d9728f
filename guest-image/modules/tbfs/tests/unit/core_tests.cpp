// SPDX-License-Identifier: BSD-3-Clause
//
// Rules of the core one by one: rejected media and calls, costs, bounds, and a full medium.
#include <gtest/gtest.h>

#include <cstring>

#include "mounted.hpp"
#include "operation.hpp"

namespace {

constexpr struct tbfs_options Inplace16 = optionsOf(TBFS_DATA_INPLACE, 16);

int statusOf(Medium medium, const struct tbfs_options &options = Inplace16) {
    return Mounted(medium, options).status();
}

struct tbfs_super *superOf(Medium &medium, size_t copy) {
    return reinterpret_cast<struct tbfs_super *>(medium.data() + copy * TBFS_BLOCK_BYTES);
}

TEST(Media, ADamagedSuperblockIsReplacedByItsCopy) {
    Medium medium = makeMedium(60, 24);
    superOf(medium, 0)->inode_count++;
    Mounted mounted(medium, Inplace16);
    EXPECT_EQ(mounted.status(), 0);
    Medium after = mounted.medium();
    EXPECT_EQ(memcmp(superOf(after, 0), superOf(after, 1), TBFS_SUPER_STATIC_BYTES), 0);
}

TEST(Media, WhatIsNoFileSystemIsRefused) {
    Medium medium = makeMedium(60, 24), other = medium;
    superOf(medium, 0)->inode_count++;
    superOf(medium, 1)->label[0]++;
    EXPECT_EQ(statusOf(medium), -EUCLEAN);
    superOf(other, 0)->version = superOf(other, 1)->version = TBFS_VERSION + 1;
    EXPECT_EQ(statusOf(other), -EPROTONOSUPPORT);
    EXPECT_EQ(statusOf(Medium(60 * TBFS_BLOCK_BYTES)), -EINVAL);
    EXPECT_EQ(statusOf(Medium(TBFS_BLOCK_BYTES)), -EINVAL);
}

TEST(Media, OfTooFewBlocksNoneIsMade) {
    EXPECT_THROW(makeMedium(19, 24), std::runtime_error);
    EXPECT_EQ(statusOf(makeMedium(20, 24)), 0);
    EXPECT_THROW(makeMedium(60, 60 * 32), std::runtime_error);
}

TEST(Media, OptionsThatDoNotExistAreRefused) {
    Medium medium = makeMedium(60, 24);
    EXPECT_EQ(statusOf(medium, optionsOf(TBFS_DATA_INPLACE, 32)), -EINVAL);
    EXPECT_EQ(statusOf(medium, optionsOf(static_cast<enum tbfs_data>(3), 16)), -EINVAL);
    EXPECT_EQ(statusOf(medium, optionsOf(TBFS_DATA_COW, 64)), 0);
}

TEST(Media, AnEntryOfTheJournalThatNamesTheJournalIsRefused) {
    Medium medium = makeMedium(60, 24);
    auto *header = reinterpret_cast<struct tbfs_journal_header *>(medium.data() + superOf(medium, 0)->journal_offset);
    auto *entry = reinterpret_cast<struct tbfs_entry *>(header) + 1;
    EXPECT_EQ(header->redo, 0); // though the medium was not zero before
    *entry = {.offset = superOf(medium, 0)->journal_offset,
              .transaction = 1,
              .generation = 1,
              .type = TBFS_ENTRY_START,
              .size = 8,
              .content = {}};
    header->tail = 2;
    EXPECT_EQ(statusOf(medium), -EUCLEAN);
    entry->offset = superOf(medium, 0)->data_offset;
    EXPECT_EQ(statusOf(medium), 0);
}

// After the last generation the numbers begin again at 1. An old entry with such a number must be invalid, and a new
// transaction must work.
TEST(Journal, TheLastGenerationIsFollowedByTheFirst) {
    Medium medium = makeMedium(60, 24);
    auto *header = reinterpret_cast<struct tbfs_journal_header *>(medium.data() + superOf(medium, 0)->journal_offset);
    auto *entry = reinterpret_cast<struct tbfs_entry *>(header) + 1;
    header->generation = 65535;
    entry[5] = {.offset = 0, .transaction = 1, .generation = 1, .type = TBFS_ENTRY_START, .size = 8, .content = {}};
    Mounted mounted(medium, Inplace16);
    EXPECT_EQ(mounted.status(), 0);
    EXPECT_EQ(mounted.fs()->journal.generation, 2);
    EXPECT_EQ(run(mounted.fs(), {.kind = Operation::Create, .path = "/a"}), 0);
    Medium after = mounted.medium();
    Mounted again(after, Inplace16);
    EXPECT_EQ(again.status(), 0);
    EXPECT_GT(resolve(again.fs(), "/a"), 0);
}

// Entries of a transaction may be durable without their tail, and must be invalid after the next mount. If the
// transaction had just wrapped around, its entries have the next generation.
TEST(Journal, EachTurnBeginsAGenerationAndEachMountTheOneAfterTheNext) {
    Medium medium = makeMedium(60, 24);
    Mounted first(medium, Inplace16);
    EXPECT_EQ(first.fs()->journal.generation, 3);
    medium = first.medium();
    Mounted mounted(medium, Inplace16);
    struct tbfs_journal &journal = mounted.fs()->journal;
    EXPECT_EQ(journal.generation, 5);
    for (uint32_t tail = 0; tail <= journal.tail;) {
        tail = journal.tail;
        run(mounted.fs(), {.kind = Operation::Create, .path = "/a"});
        run(mounted.fs(), {.kind = Operation::Unlink, .path = "/a"});
    }
    EXPECT_EQ(journal.generation, 6);
    EXPECT_EQ(journal.head, 0u);
}

// The transaction had wrapped around, and its entries are durable, but its generation is not.
TEST(Journal, EntriesOfATurnThatWasCutMeanNothingAfterAMount) {
    Medium medium = makeMedium(60, 24);
    auto *header = reinterpret_cast<struct tbfs_journal_header *>(medium.data() + superOf(medium, 0)->journal_offset);
    for (uint16_t generation : {3, 65534, 65535}) {
        header->generation = generation;
        uint16_t next = generation == 65535 ? 1 : static_cast<uint16_t>(generation + 1);
        auto *entries = reinterpret_cast<struct tbfs_entry *>(header) + 1;
        entries[0] = {
            .offset = 128, .transaction = 1, .generation = next, .type = TBFS_ENTRY_START, .size = 8, .content = {}};
        Mounted mounted(medium, Inplace16);
        ASSERT_EQ(mounted.status(), 0);
        EXPECT_NE(mounted.fs()->journal.generation, mounted.fs()->journal.entries[0].generation);
    }
}

// The changes of the last transaction of `log` are stored again, all of them or none.
TEST(Journal, OfNewContentIsStoredAgainUnlessItIsDamaged) {
    const struct tbfs_options logged = optionsOf(TBFS_DATA_INPLACE, 8, {}, TBFS_METADATA_LOG);
    Medium medium = makeMedium(60, 24);
    {
        Mounted mounted(medium, logged);
        run(mounted.fs(), {.kind = Operation::Create, .path = "/a"});
        medium = mounted.medium();
    }
    auto *header = reinterpret_cast<struct tbfs_journal_header *>(medium.data() + superOf(medium, 0)->journal_offset);
    auto *entries = reinterpret_cast<struct tbfs_entry *>(header) + 1;
    ASSERT_EQ(header->redo, 1);
    ASSERT_EQ(header->tail - header->head, 3u);
    memset(medium.data() + superOf(medium, 0)->inode_offset + 2 * sizeof(struct tbfs_inode), 0, 96); // of the new file
    for (const struct tbfs_options &options : {logged, Inplace16}) {
        Medium copy = medium;
        Mounted mounted(copy, options);
        EXPECT_GT(resolve(mounted.fs(), "/a"), 0);
        EXPECT_EQ(mounted.faults(), std::vector<std::string>());
        EXPECT_FALSE(mounted.fs()->journal.redo);
    }
    Medium other = medium;
    entries[header->head].generation++;
    EXPECT_EQ(statusOf(medium), -EUCLEAN);
    header = reinterpret_cast<struct tbfs_journal_header *>(other.data() + superOf(other, 0)->journal_offset);
    header->redo = 2;
    EXPECT_EQ(statusOf(other), -EUCLEAN);
}

struct Cost {
    uint64_t entries, fences;
    bool operator==(const Cost &) const = default;
};

void PrintTo(const Cost &cost, std::ostream *to) { *to << cost.entries << " entries, " << cost.fences << " fences"; }

Cost costOf(Mounted &mounted, const Operation &operation) {
    Recorder recording(mounted.fs()->space.base);
    recorder = &recording;
    uint64_t before = mounted.fs()->counters.journal_entries;
    EXPECT_GE(run(mounted.fs(), operation), 0) << describe(operation);
    return {mounted.fs()->counters.journal_entries - before, recording.count(MediaEvent::Fence)};
}

// docs/explanation/tbfs.md has the same table.
TEST(Costs, AreTheDocumentedOnes) {
    const std::vector<Operation> calls = {
        {.kind = Operation::Create, .path = "/b", .now = 3},
        {.kind = Operation::Write, .path = "/a", .offset = 100, .bytes = 64, .now = 4},
        {.kind = Operation::Write, .path = "/a", .offset = 0, .bytes = 64, .now = 5},
        {.kind = Operation::SetMode, .path = "/a", .flags = 0600, .now = 6},
        {.kind = Operation::Rename, .path = "/a", .other = "/c", .now = 7},
        {.kind = Operation::Unlink, .path = "/c", .now = 8},
    };
    struct Row {
        enum tbfs_metadata metadata;
        unsigned atomic_bytes;
        std::vector<Cost> costs;
    };
    const std::vector<Row> wanted = {{TBFS_METADATA_UNDO, 0, {{5, 3}, {2, 3}, {2, 3}, {2, 3}, {5, 3}, {8, 6}}},
                                     {TBFS_METADATA_UNDO, 8, {{5, 3}, {2, 3}, {0, 1}, {2, 3}, {5, 3}, {8, 6}}},
                                     {TBFS_METADATA_UNDO, 16, {{5, 3}, {0, 2}, {0, 1}, {2, 3}, {5, 3}, {8, 6}}},
                                     {TBFS_METADATA_UNDO, 64, {{5, 3}, {0, 2}, {0, 1}, {0, 1}, {5, 3}, {5, 5}}},
                                     {TBFS_METADATA_LOG, 8, {{4, 2}, {1, 2}, {1, 2}, {1, 2}, {4, 2}, {6, 4}}}};
    for (const auto &[metadata, atomic_bytes, costs] : wanted) {
        Medium medium = makeMedium(60, 24);
        Mounted mounted(medium, optionsOf(TBFS_DATA_INPLACE, atomic_bytes, {}, metadata));
        run(mounted.fs(), {.kind = Operation::Create, .path = "/a", .now = 2});
        run(mounted.fs(), {.kind = Operation::Write, .path = "/a", .bytes = 100, .now = 2});
        for (size_t i = 0; i < calls.size(); i++)
            EXPECT_EQ(costOf(mounted, calls[i]), costs[i])
                << describe(calls[i]) << ", atomic " << atomic_bytes << ", metadata " << metadata;
    }
}

TEST(Files, AreReadableWithoutANameUntilTheyAreEvicted) {
    Medium medium = makeMedium(60, 24);
    Mounted mounted(medium, Inplace16);
    struct tbfs *fs = mounted.fs();
    uint64_t blocks = fs->blocks.free, orphan;
    run(fs, {.kind = Operation::Create, .path = "/a"});
    uint64_t ino = static_cast<uint64_t>(resolve(fs, "/a"));
    run(fs, {.kind = Operation::Write, .path = "/a", .bytes = 5000});
    ASSERT_EQ(tbfs_unlink(fs, TBFS_ROOT_INODE, nameOf("a"), 5, &orphan), 0);
    EXPECT_EQ(orphan, ino);
    char byte;
    EXPECT_EQ(tbfs_read(fs, ino, 4999, &byte, 1), 1);
    run(fs, {.kind = Operation::Create, .path = "/b"});
    EXPECT_NE(static_cast<uint64_t>(resolve(fs, "/b")), ino);
    Medium cut = mounted.medium();
    EXPECT_EQ(tbfs_evict(fs, ino, 6), 0);
    EXPECT_EQ(fs->blocks.free, blocks - 1); // the directory keeps one
    EXPECT_EQ(Mounted(cut, Inplace16).freeBlocks(), blocks - 1);
}

TEST(Files, HaveBounds) {
    Medium medium = makeMedium(400, 24);
    Mounted mounted(medium, Inplace16);
    struct tbfs *fs = mounted.fs();
    run(fs, {.kind = Operation::Create, .path = "/a"});
    uint64_t ino = static_cast<uint64_t>(resolve(fs, "/a")), most = TBFS_FILE_BYTES_MAX;
    EXPECT_EQ(tbfs_write(fs, ino, most - 1, "ab", 2, 3), -EFBIG);
    EXPECT_EQ(tbfs_truncate(fs, ino, most + 1, 3), -EFBIG);
    EXPECT_EQ(tbfs_write(fs, ino, most - 1, "z", 1, 3), 1);
    char byte = 0;
    EXPECT_EQ(tbfs_read(fs, ino, most - 1, &byte, 9), 1);
    EXPECT_EQ(byte, 'z');
    Operation large{.kind = Operation::Write, .path = "/a", .offset = 500 * 4096 + 7, .bytes = 300 * 4096};
    EXPECT_EQ(run(fs, large), 300 * 4096); // in three transactions and two leaves
    std::string content(large.bytes, 0);
    EXPECT_EQ(tbfs_read(fs, ino, large.offset, content.data(), large.bytes), 300 * 4096);
    EXPECT_TRUE(content == contentOf(large));
    EXPECT_EQ(tbfs_truncate(fs, ino, 0, 4), 0);
    EXPECT_EQ(mounted.faults(), std::vector<std::string>());
}

TEST(Names, ThatCannotBeAreRefused) {
    Medium medium = makeMedium(60, 24);
    Mounted mounted(medium, Inplace16);
    struct tbfs_new file = {S_IFREG | 0644, 0, {}};
    struct tbfs_caller caller = {};
    uint64_t ino;
    auto create = [&](const std::string &name) {
        return tbfs_create(mounted.fs(), TBFS_ROOT_INODE, nameOf(name), &file, &caller, &ino);
    };
    for (const char *name : {"", ".", "..", "a/b"})
        EXPECT_EQ(create(name), -EINVAL) << name;
    EXPECT_EQ(create(std::string("a\0b", 3)), -EINVAL);
    EXPECT_EQ(create(std::string(256, 'a')), -ENAMETOOLONG);
    EXPECT_EQ(create(std::string(255, 'a')), 0);
    EXPECT_EQ(create(std::string(255, 'a')), -EEXIST);
}

// Fills the medium until neither a block nor an inode is free.
void fill(struct tbfs *fs) {
    for (uint32_t i = 0;
         run(fs, {.kind = Operation::Create, .path = "/" + std::string(200, 'a') + std::to_string(i)}) == 0; i++)
        ;
    for (uint64_t at = 0; run(fs, {.kind = Operation::Write, .path = "/f", .offset = 4096 * (1 + at), .bytes = 1}) == 1;
         at++)
        ;
}

// On a full medium each call works without new space, or fails with ENOSPC and changes nothing.
TEST(Full, EachCallWorksOrChangesNothing) {
    const std::vector<std::pair<Operation, int64_t>> calls = {
        {{.kind = Operation::Create, .path = "/d/n"}, -ENOSPC},
        {{.kind = Operation::Mkdir, .path = "/n"}, -ENOSPC},
        {{.kind = Operation::Symlink, .path = "/n", .other = "a"}, -ENOSPC},
        {{.kind = Operation::Link, .path = "/f", .other = "/d/f"}, -ENOSPC},
        {{.kind = Operation::Rename, .path = "/f", .other = "/d/f"}, -ENOSPC},
        {{.kind = Operation::Write, .path = "/g", .offset = 5000, .bytes = 9}, -ENOSPC},
        {{.kind = Operation::Fallocate, .path = "/g", .offset = 5000, .bytes = 9}, -ENOSPC},
        {{.kind = Operation::Write, .path = "/g", .offset = 1, .bytes = 9}, 9},
        {{.kind = Operation::Truncate, .path = "/g", .offset = 100000}, 0},
        {{.kind = Operation::Rename, .path = "/f", .other = "/h"}, 0},
        {{.kind = Operation::SetMode, .path = "/g", .flags = 0600}, 0},
        {{.kind = Operation::Unlink, .path = "/g"}, 0},
        {{.kind = Operation::Rmdir, .path = "/d"}, 0},
    };
    Medium medium = makeMedium(60, 24);
    Mounted mounted(medium, Inplace16);
    struct tbfs *fs = mounted.fs();
    for (const char *path : {"/f", "/g"})
        run(fs, {.kind = Operation::Create, .path = path});
    run(fs, {.kind = Operation::Mkdir, .path = "/d"});
    run(fs, {.kind = Operation::Write, .path = "/g", .bytes = 10});
    fill(fs);
    ASSERT_EQ(fs->blocks.free + fs->inodes.free, 0u);
    for (const auto &[operation, wanted] : calls) {
        Tree before = mounted.tree();
        EXPECT_EQ(run(fs, operation), wanted) << describe(operation);
        if (wanted < 0) {
            EXPECT_TRUE(mounted.tree() == before) << describe(operation);
        }
        EXPECT_EQ(mounted.faults(), std::vector<std::string>()) << describe(operation);
    }
    Medium after = mounted.medium();
    EXPECT_EQ(Mounted(after, Inplace16).freeBlocks(), mounted.freeBlocks());
}

// stress-ng has found this bug in a guest: a list with a cycle.
TEST(Orphans, ThatAreCutStayOnTheListOnceUntilTheyAreEvicted) {
    Medium medium = makeMedium(60, 24);
    uint64_t orphans[2], before;
    {
        Mounted mounted(medium, Inplace16);
        struct tbfs *fs = mounted.fs();
        for (const char *path : {"/a", "/b", "/c"})
            run(fs, {.kind = Operation::Create, .path = path});
        before = mounted.freeBlocks();
        for (const char *path : {"/a", "/b", "/c"})
            run(fs, {.kind = Operation::Write, .path = path, .bytes = 9000});
        ASSERT_EQ(tbfs_unlink(fs, TBFS_ROOT_INODE, nameOf("a"), 1, &orphans[0]), 0);
        ASSERT_EQ(tbfs_unlink(fs, TBFS_ROOT_INODE, nameOf("b"), 1, &orphans[1]), 0);
        for (uint64_t size : {8000, 70, 0})
            for (uint64_t ino : orphans)
                EXPECT_EQ(tbfs_truncate(fs, ino, size, 2), 0);
        EXPECT_EQ(run(fs, {.kind = Operation::Truncate, .path = "/c", .offset = 5}), 0);
        EXPECT_EQ(fs->super->truncate_head, orphans[1]);
        medium = mounted.medium();
        for (uint64_t ino : orphans)
            EXPECT_EQ(tbfs_evict(fs, ino, 3), 0);
        EXPECT_EQ(fs->super->truncate_head, 0u);
        EXPECT_EQ(mounted.faults(), std::vector<std::string>());
        EXPECT_EQ(run(fs, {.kind = Operation::Unlink, .path = "/c"}), 0);
        EXPECT_EQ(mounted.freeBlocks(), before);
    }
    Mounted mounted(medium, Inplace16); // as after a power cut while they were open
    EXPECT_EQ(mounted.status(), 0);
    EXPECT_EQ(mounted.faults(), std::vector<std::string>());
}

} // namespace
