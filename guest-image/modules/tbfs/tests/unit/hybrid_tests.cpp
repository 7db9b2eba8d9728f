// SPDX-License-Identifier: BSD-3-Clause
//
// Pages with logs, rule by rule: the cost of a write, the entries that a read visits, merges of logs, the space of
// their blocks, and logs with the other policies.
#include <gtest/gtest.h>

#include <cstring>

#include "model.hpp"
#include "mounted.hpp"
#include "operation.hpp"

namespace {

constexpr struct tbfs_hybrid Defaults = {};
constexpr struct tbfs_options Hybrid8 = optionsOf(TBFS_DATA_HYBRID, 8);

// All other options have their default.
constexpr struct tbfs_hybrid with(unsigned log_block_bytes, uint64_t gc_read_bytes = 0,
                                  enum tbfs_read read = TBFS_READ_REVERSE) {
    struct tbfs_hybrid hybrid = {};
    hybrid.log_block_bytes = log_block_bytes;
    hybrid.gc_read_bytes = gc_read_bytes;
    hybrid.read = read;
    return hybrid;
}

// The file has whole pages, and the time does not change.
constexpr uint64_t Page = TBFS_BLOCK_BYTES;
constexpr uint32_t Now = 2;

int64_t writeAt(Mounted &mounted, uint64_t offset, uint64_t bytes, char fill = 'w') {
    return run(mounted.fs(),
               {.kind = Operation::Write, .path = "/a", .offset = offset, .bytes = bytes, .fill = fill, .now = Now});
}

int64_t readAt(Mounted &mounted, uint64_t offset, uint64_t bytes) {
    return run(mounted.fs(), {.kind = Operation::Read, .path = "/a", .offset = offset, .bytes = bytes});
}

Medium withFile(uint64_t pages, const struct tbfs_options &options) {
    Medium medium = makeMedium(200, 24);
    Mounted mounted(medium, options);
    run(mounted.fs(), {.kind = Operation::Create, .path = "/a", .now = Now});
    writeAt(mounted, 0, pages * Page, 'a');
    return mounted.medium();
}

struct DataCost {
    uint64_t lines, fences, entries;
    bool operator==(const DataCost &) const = default;
};

void PrintTo(const DataCost &cost, std::ostream *to) {
    *to << "{" << cost.lines << ", " << cost.fences << ", " << cost.entries << "}";
}

DataCost costOfWrite(Mounted &mounted, uint64_t offset, uint64_t bytes) {
    Recorder recording(mounted.fs()->space.base);
    recorder = &recording;
    uint64_t entries = mounted.fs()->counters.journal_entries;
    EXPECT_EQ(writeAt(mounted, offset, bytes), static_cast<int64_t>(bytes));
    return {recording.linesWritten(), recording.count(MediaEvent::Fence),
            mounted.fs()->counters.journal_entries - entries};
}

// docs/explanation/tbfs.md has the same table: the first write to a page, and the second one.
TEST(HybridCosts, AreTheDocumentedOnes) {
    struct Row {
        uint64_t at, bytes;
        DataCost inplace[2], cow[2], hybrid[2];
    };
    const std::vector<Row> rows = {
        {13, 64, {{2, 1, 0}, {2, 1, 0}}, {{65, 2, 0}, {65, 2, 0}}, {{4, 2, 0}, {3, 2, 0}}},
        {13, 256, {{5, 1, 0}, {5, 1, 0}}, {{65, 2, 0}, {65, 2, 0}}, {{7, 2, 0}, {6, 2, 0}}},
        {13, 1024, {{17, 1, 0}, {17, 1, 0}}, {{65, 2, 0}, {65, 2, 0}}, {{19, 2, 0}, {18, 2, 0}}},
        {13, 2048, {{33, 1, 0}, {33, 1, 0}}, {{65, 2, 0}, {65, 2, 0}}, {{35, 2, 0}, {36, 2, 0}}},
        {0, 4096, {{64, 1, 0}, {64, 1, 0}}, {{65, 2, 0}, {65, 2, 0}}, {{65, 2, 0}, {65, 2, 0}}},
    };
    for (const Row &row : rows)
        for (int time = 0; time < 2; time++) {
            auto cost = [&](enum tbfs_data data) {
                Medium medium = withFile(3, optionsOf(data, 8));
                Mounted mounted(medium, optionsOf(data, 8));
                if (time)
                    writeAt(mounted, Page + row.at, row.bytes, 'b');
                return costOfWrite(mounted, Page + row.at, row.bytes);
            };
            EXPECT_EQ(cost(TBFS_DATA_INPLACE), row.inplace[time]) << row.bytes;
            EXPECT_EQ(cost(TBFS_DATA_COW), row.cow[time]) << row.bytes;
            EXPECT_EQ(cost(TBFS_DATA_HYBRID), row.hybrid[time]) << row.bytes;
        }
}

TEST(HybridOptions, ThatDoNotExistOrContradictAreRefused) {
    Medium medium = makeMedium(60, 24);
    auto status = [&](enum tbfs_data data, const struct tbfs_hybrid &hybrid) {
        return Mounted(medium, optionsOf(data, 8, hybrid)).status();
    };
    struct tbfs_hybrid bad[10] = {};
    bad[0].log_block_bytes = 256, bad[1].log_block_bytes = 1536, bad[2].log_block_bytes = 8192;
    bad[3].log_align_bytes = 16, bad[4].log_write_bytes = 4096;
    bad[5].read = static_cast<enum tbfs_read>(3), bad[6].multi = static_cast<enum tbfs_multi>(3);
    bad[7].gc_low_percent = 101, bad[8].gc_high_percent = 10;
    bad[9].gc_low_percent = 20, bad[9].gc_high_percent = 19;
    for (int i = 0; i < 10; i++)
        EXPECT_EQ(status(TBFS_DATA_HYBRID, bad[i]), -EINVAL) << i;
    EXPECT_EQ(status(TBFS_DATA_HYBRID, Defaults), 0);
    EXPECT_EQ(status(TBFS_DATA_COW, Defaults), 0);
    EXPECT_EQ(status(TBFS_DATA_COW, with(512)), -EINVAL);
    EXPECT_EQ(status(TBFS_DATA_INPLACE, with(0, TBFS_GC_NEVER)), -EINVAL);
}

// In reverse a read visits entries until it has all bytes; forward it visits every entry.
TEST(HybridReads, LookAtNoMoreEntriesThanTheyNeed) {
    for (enum tbfs_read read : {TBFS_READ_REVERSE, TBFS_READ_FORWARD}) {
        struct tbfs_options options = optionsOf(TBFS_DATA_HYBRID, 8, with(0, TBFS_GC_NEVER, read));
        Medium medium = withFile(1, options);
        Mounted mounted(medium, options);
        for (int i = 0; i < 60; i++)
            writeAt(mounted, 100, 200, static_cast<char>('b' + i % 9));
        uint64_t before = mounted.fs()->counters.log_entries_read;
        readAt(mounted, 150, 50);
        EXPECT_EQ(mounted.fs()->counters.log_entries_read - before, read == TBFS_READ_REVERSE ? 1u : 60u);
        before = mounted.fs()->counters.log_entries_read;
        readAt(mounted, 0, Page);
        EXPECT_EQ(mounted.fs()->counters.log_entries_read - before, 60u);
        EXPECT_EQ(mounted.fs()->counters.merges, 0u);
    }
}

TEST(HybridMerges, AReadMergesALogThatIsLongerThanTheThreshold) {
    struct tbfs_options options = optionsOf(TBFS_DATA_HYBRID, 8, with(0, 300));
    Medium medium = withFile(1, options);
    Mounted mounted(medium, options);
    uint64_t blocks = mounted.freeBlocks();
    writeAt(mounted, 1, 220); // in the log: 64 for its header, 224 and 8
    int64_t sum = readAt(mounted, 0, Page);
    EXPECT_EQ(mounted.fs()->counters.merges, 0u);
    EXPECT_EQ(mounted.freeBlocks(), blocks - 1);
    writeAt(mounted, 1, 220);
    readAt(mounted, 0, 1);
    EXPECT_EQ(mounted.fs()->counters.merges, 1u);
    EXPECT_EQ(mounted.freeBlocks(), blocks);
    EXPECT_EQ(readAt(mounted, 0, Page), sum);
    EXPECT_EQ(mounted.fs()->counters.merges, 1u);
}

// Gives the first page of the file a log that the next read merges. The last transaction is journalled; by `offset` it
// changes that log or another page.
void writeLogged(Mounted &mounted, uint64_t offset) {
    writeAt(mounted, 1, 220);
    writeAt(mounted, 1, 220);
    ASSERT_EQ(run(mounted.fs(), {.kind = Operation::Write, .path = "/a", .offset = offset, .bytes = 100, .now = 4000}),
              100);
    ASSERT_LT(mounted.fs()->journal.head, mounted.fs()->journal.tail);
}

// Recovery must not store into a log's block once the block may belong to another file.
TEST(HybridMerges, ALogIsFreedOnlyWhenRecoveryStoresNothingThere) {
    struct tbfs_options options = optionsOf(TBFS_DATA_HYBRID, 8, with(0, 300), TBFS_METADATA_LOG);
    Medium medium = withFile(1, options);
    Mounted mounted(medium, options);
    writeLogged(mounted, 1);
    readAt(mounted, 0, 1);
    EXPECT_EQ(mounted.fs()->counters.merges, 1u);
    EXPECT_EQ(mounted.fs()->journal.head, mounted.fs()->journal.tail);
}

TEST(HybridMerges, TheJournalStaysIfRecoveryStoresNothingIntoTheFreedLog) {
    struct tbfs_options options = optionsOf(TBFS_DATA_HYBRID, 8, with(0, 300), TBFS_METADATA_LOG);
    Medium medium = withFile(1, options);
    Mounted mounted(medium, options);
    writeLogged(mounted, Page);
    struct tbfs_counters before = mounted.fs()->counters;
    readAt(mounted, 0, 1);
    EXPECT_EQ(mounted.fs()->counters.merges, 1u);
    EXPECT_EQ(mounted.fs()->counters.atomic_updates - before.atomic_updates, 1u);
    EXPECT_LT(mounted.fs()->journal.head, mounted.fs()->journal.tail);
}

// The pages of the file that have logs, as digits.
std::string logsOf(Mounted &mounted, uint64_t pages) {
    uint64_t ino = static_cast<uint64_t>(resolve(mounted.fs(), "/a"));
    std::string found;
    for (uint64_t page = 0; page < pages; page++) {
        struct tbfs_extent extent;
        EXPECT_EQ(tbfs_find_extent(mounted.fs(), ino, page * Page, Page, &extent), 0);
        if (extent.has_log)
            found += static_cast<char>('0' + page);
    }
    return found;
}

struct tbfs_options idleFrom(unsigned low_percent, unsigned high_percent) {
    struct tbfs_hybrid hybrid = with(512, TBFS_GC_NEVER);
    hybrid.gc_low_percent = low_percent;
    hybrid.gc_high_percent = high_percent;
    return optionsOf(TBFS_DATA_HYBRID, 8, hybrid);
}

// The longest logs come first, by powers of two. Logs are also appended to between the steps.
TEST(HybridBackground, MergesTheLongestLogsFirst) {
    Medium medium = withFile(4, idleFrom(100, 0));
    Mounted mounted(medium, idleFrom(100, 0));
    struct tbfs *fs = mounted.fs();
    for (uint64_t times : {1, 9, 3, 30})
        for (uint64_t i = 0, page = times == 1 ? 0 : times == 9 ? 1 : times == 3 ? 2 : 3; i < times; i++)
            writeAt(mounted, page * Page + 10 * i, 100);
    std::vector<std::string> order = {logsOf(mounted, 4)};
    while (tbfs_merge_some(fs)) {
        writeAt(mounted, 10, 1, static_cast<char>('f' + order.size()));
        if (logsOf(mounted, 4) != order.back())
            order.push_back(logsOf(mounted, 4));
    }
    EXPECT_EQ(order, (std::vector<std::string>{"0123", "012", "02", "0"}));
    EXPECT_EQ(mounted.faults(), std::vector<std::string>());
}

TEST(HybridBackground, BeginsWhereRoomIsShortAndEndsWhereItIsNot) {
    Medium medium = withFile(8, idleFrom(1, 2));
    uint64_t blocks;
    {
        Mounted mounted(medium, idleFrom(1, 2));
        for (uint64_t page = 0; page < 8; page++)
            for (int i = 0; i < 20; i++)
                writeAt(mounted, page * Page + 1, 2000);
        EXPECT_FALSE(tbfs_merge_some(mounted.fs()));
        medium = mounted.medium();
        struct tbfs_statfs room;
        tbfs_statfs(mounted.fs(), &room);
        blocks = room.blocks;
        ASSERT_LT(room.blocks_free * 100, blocks * 50);
        ASSERT_GT(room.blocks_free * 100, blocks * 10);
    }
    Mounted mounted(medium, idleFrom(50, 60));
    uint64_t steps = 0;
    while (tbfs_merge_some(mounted.fs()))
        steps++;
    EXPECT_GE(mounted.freeBlocks() * 100, blocks * 60);
    EXPECT_LT(mounted.freeBlocks() * 100, blocks * 70);
    EXPECT_NE(logsOf(mounted, 8), "");
    EXPECT_EQ(mounted.fs()->background.ino, 0u);
    EXPECT_FALSE(tbfs_wants_merge(mounted.fs()));
    EXPECT_GT(steps, mounted.fs()->counters.merges);
}

// A log that takes less space than the block that it would need stays.
TEST(HybridBackground, LeavesWhatGivesNoRoomAndStoresNothingThen) {
    Medium medium = makeMedium(200, 24);
    Mounted mounted(medium, idleFrom(100, 0));
    run(mounted.fs(), {.kind = Operation::Create, .path = "/a", .now = Now});
    writeAt(mounted, 0, 100);
    EXPECT_TRUE(tbfs_wants_merge(mounted.fs()));
    Medium before = mounted.medium();
    EXPECT_FALSE(tbfs_merge_some(mounted.fs()));
    EXPECT_TRUE(mounted.medium() == before);
    writeAt(mounted, Page, Page);
    writeAt(mounted, Page, 100);
    mounted.fs()->read_only = true;
    EXPECT_FALSE(tbfs_merge_some(mounted.fs()));
    mounted.fs()->read_only = false;
    EXPECT_EQ(logsOf(mounted, 2), "01");
    while (tbfs_merge_some(mounted.fs()))
        ;
    EXPECT_EQ(logsOf(mounted, 2), "0");
}

// The write copies nothing from the log.
TEST(HybridMerges, AWriteOfTheWholePageFreesItsLog) {
    Medium medium = withFile(2, Hybrid8);
    Mounted mounted(medium, Hybrid8);
    uint64_t blocks = mounted.freeBlocks();
    for (int i = 0; i < 10; i++)
        writeAt(mounted, 7, 2000);
    EXPECT_LT(mounted.freeBlocks(), blocks - 4);
    uint64_t read = mounted.fs()->counters.log_entries_read;
    writeAt(mounted, 0, Page);
    EXPECT_EQ(mounted.freeBlocks(), blocks);
    EXPECT_EQ(mounted.fs()->counters.log_entries_read, read);
}

TEST(HybridBlocks, OfSmallLogsLieTogether) {
    for (unsigned bytes : {512u, 1024u, 2048u, 4096u}) {
        struct tbfs_options options = optionsOf(TBFS_DATA_HYBRID, 8, with(bytes));
        Medium medium = withFile(16, options);
        Mounted mounted(medium, options);
        uint64_t blocks = mounted.freeBlocks();
        for (uint64_t page = 0; page < 16; page++)
            writeAt(mounted, page * Page + 5, 30);
        EXPECT_EQ(blocks - mounted.freeBlocks(), 16u * bytes / 4096);
        Medium after = mounted.medium();
        EXPECT_EQ(Mounted(after, options).freeBlocks(), mounted.freeBlocks());
        for (uint64_t page = 0; page < 16; page++)
            writeAt(mounted, page * Page, Page);
        EXPECT_EQ(mounted.freeBlocks(), blocks);
        EXPECT_EQ(mounted.fs()->pieces_free, 0u);
    }
}

// All policies share one format: each policy reads logs, and a write merges them.
TEST(HybridMedia, AreThoseOfTheOtherPolicies) {
    for (enum tbfs_data data : {TBFS_DATA_INPLACE, TBFS_DATA_COW}) {
        Medium medium = withFile(1, Hybrid8);
        Mounted hybrid(medium, Hybrid8);
        writeAt(hybrid, 50, 500);
        Medium logged = hybrid.medium();
        Mounted mounted(logged, optionsOf(data, 8));
        EXPECT_EQ(mounted.tree().at("/a").content, hybrid.tree().at("/a").content);
        writeAt(hybrid, 100, 9, 'z');
        writeAt(mounted, 100, 9, 'z');
        EXPECT_EQ(mounted.tree().at("/a").content, hybrid.tree().at("/a").content);
        EXPECT_EQ(mounted.freeBlocks(), hybrid.freeBlocks() + 1);
    }
}

TEST(HybridExtents, OfLogsThatLieTogetherAreOneForEachPage) {
    Medium medium = withFile(3, Hybrid8);
    Mounted mounted(medium, Hybrid8);
    for (uint64_t page = 0; page < 3; page++)
        writeAt(mounted, page * Page + 7, 4);
    struct tbfs_extent extent;
    ASSERT_EQ(tbfs_find_extent(mounted.fs(), static_cast<uint64_t>(resolve(mounted.fs(), "/a")), 0, 3 * Page, &extent),
              0);
    EXPECT_TRUE(extent.has_log);
    EXPECT_EQ(extent.bytes, Page);
    EXPECT_EQ(logsOf(mounted, 3), "012");
}

TEST(HybridExtents, SayThatAPageHasALogUntilItIsMerged) {
    Medium medium = withFile(3, Hybrid8);
    Mounted mounted(medium, Hybrid8);
    struct tbfs *fs = mounted.fs();
    uint64_t ino = static_cast<uint64_t>(resolve(fs, "/a"));
    writeAt(mounted, Page + 1, 5);
    int64_t sum = readAt(mounted, 0, 3 * Page);
    struct tbfs_extent extent;
    ASSERT_EQ(tbfs_find_extent(fs, ino, 0, 3 * Page, &extent), 0);
    EXPECT_EQ(extent.bytes, Page);
    ASSERT_EQ(tbfs_find_extent(fs, ino, Page, 2 * Page, &extent), 0);
    EXPECT_TRUE(extent.has_log);
    EXPECT_EQ(extent.bytes, Page);
    EXPECT_EQ(tbfs_merge(fs, ino, 0, 3 * Page), 0);
    ASSERT_EQ(tbfs_find_extent(fs, ino, Page, 2 * Page, &extent), 0);
    EXPECT_FALSE(extent.has_log);
    EXPECT_NE(extent.offset, 0u);
    EXPECT_EQ(fs->counters.merges, 1u);
    EXPECT_EQ(readAt(mounted, 0, 3 * Page), sum);
    EXPECT_EQ(tbfs_merge(fs, ino, TBFS_FILE_BYTES_MAX, 1), -EFBIG);
}

// If the data end early, or the medium is full, the write has no visible effect, and no block is lost.
TEST(HybridWrites, ThatFailLeaveTheLogAsItWas) {
    struct tbfs_options options = optionsOf(TBFS_DATA_HYBRID, 8, with(512));
    Medium medium = withFile(1, options);
    Mounted mounted(medium, options);
    struct tbfs *fs = mounted.fs();
    uint64_t ino = static_cast<uint64_t>(resolve(fs, "/a"));
    writeAt(mounted, 50, 300);
    Tree tree = mounted.tree();
    uint64_t blocks = mounted.freeBlocks(), pieces = fs->pieces_free;
    struct tbfs_source none = {[](void *, uint64_t, void *, uint64_t) { return -EFAULT; }, nullptr};
    EXPECT_EQ(tbfs_write_from(fs, ino, 60, &none, 1000, 9), -EFAULT);
    EXPECT_EQ(mounted.freeBlocks(), blocks);
    EXPECT_EQ(fs->pieces_free, pieces);
    Operation append = {.kind = Operation::Write, .path = "/b", .bytes = 400, .now = Now};
    run(fs, {.kind = Operation::Create, .path = "/b", .now = Now});
    run(fs, append); // a log without a block
    for (uint64_t at = 1; writeAt(mounted, at * Page, Page) > 0; at++)
        tree = mounted.tree();
    while (run(fs, append) > 0) // the rest of the block for logs
        tree = mounted.tree();
    EXPECT_EQ(writeAt(mounted, 40, 400), -ENOSPC);
    EXPECT_EQ(mounted.freeBlocks() + fs->pieces_free, 0u);
    EXPECT_TRUE(mounted.tree() == tree);
    Medium after = mounted.medium();
    Mounted again(after, options);
    EXPECT_TRUE(again.tree() == tree);
    EXPECT_EQ(again.freeBlocks() + again.fs()->pieces_free, 0u);
}

TEST(HybridMedia, WithALogThatIsNoneAreRefused) {
    struct tbfs_options options = optionsOf(TBFS_DATA_HYBRID, 8, with(512));
    Medium medium = withFile(1, options);
    Mounted mounted(medium, options);
    struct tbfs *fs = mounted.fs();
    for (int i = 0; i < 3; i++)
        writeAt(mounted, 50, 200);
    uint64_t slot = fs->super->inode_offset + 2 * sizeof(struct tbfs_inode) + offsetof(struct tbfs_inode, root), log;
    Medium sound = mounted.medium();
    memcpy(&log, sound.data() + slot, sizeof(log));
    uint64_t first = log & ~UINT64_C(511), head;
    ASSERT_EQ(log & 1, 1u);
    memcpy(&head, sound.data() + first, sizeof(head));
    uint64_t second = (head - 1) & ~UINT64_C(511);
    ASSERT_NE(second, first);
    ASSERT_EQ(Mounted(sound, options).status(), 0);
    auto status = [&](uint64_t place, uint64_t value, size_t bytes = 8) {
        Medium bad = sound;
        memcpy(bad.data() + place, &value, bytes);
        return Mounted(bad, options).status();
    };
    EXPECT_EQ(status(slot, log | 256), -EUCLEAN);         // undefined bits
    EXPECT_EQ(status(slot, log | 2), -EUCLEAN);           // larger blocks
    EXPECT_EQ(status(first, 0), -EUCLEAN);                // no entry
    EXPECT_EQ(status(first, head - 8), -EUCLEAN);         // within an entry
    EXPECT_EQ(status(first + 8, first), -EUCLEAN);        // its page is its log
    EXPECT_EQ(status(first + 16, second + 72), -EUCLEAN); // a cycle
    EXPECT_EQ(status(first + 24, 0), -EUCLEAN);           // the chain is broken
    EXPECT_EQ(status(second + 32, 1), -EUCLEAN);          // a wrong length
    EXPECT_EQ(status(head - 6, 0, 2), -EUCLEAN);          // an empty entry
    EXPECT_EQ(status(head - 8, 4000, 2), -EUCLEAN);       // beyond the page's end
}

} // namespace
