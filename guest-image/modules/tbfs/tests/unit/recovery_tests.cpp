// SPDX-License-Identifier: BSD-3-Clause
//
// Power cuts that no other explorer covers: while a file system is made, and in the first change after a recovery, when
// the stores of the recovery may not be durable yet.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

#include "mounted.hpp"
#include "operation.hpp"

namespace {

// Each changed line is alone present and alone missing.
constexpr Sampling Lines = {.exhaustive = 16, .random = 16, .alone = 4096};
constexpr Sampling Few = {.exhaustive = 256, .random = 16, .alone = 32};

std::vector<MediaEvent> recorded(const uint8_t *base, const std::function<void()> &calls) {
    Recorder recording(base);
    recorder = &recording;
    calls();
    return recording.events;
}

// ---- While a file system is made ----

// A medium with files; recovery has to store the last file again.
Medium oldMedium(const struct tbfs_options &options) {
    Medium medium = makeMedium(60, 24);
    Mounted mounted(medium, options);
    EXPECT_EQ(run(mounted.fs(), {.kind = Operation::Create, .path = "/old", .now = 2000}), 0);
    EXPECT_EQ(run(mounted.fs(), {.kind = Operation::Write, .path = "/old", .bytes = 9000, .now = 2000}), 9000);
    EXPECT_EQ(run(mounted.fs(), {.kind = Operation::Create, .path = "/last", .now = 2500}), 0);
    int64_t last = resolve(mounted.fs(), "/last");
    Medium found = mounted.medium();
    memset(found.data() + mounted.fs()->super->inode_offset + static_cast<uint64_t>(last) * sizeof(struct tbfs_inode),
           0, 96);
    return found;
}

// Each superblock alone suffices.
void expectBothSuperblocks(const Medium &medium, const struct tbfs_options &options) {
    for (size_t damaged : {0, 1}) {
        Medium copy = medium;
        copy[damaged * TBFS_BLOCK_BYTES]++;
        EXPECT_EQ(Mounted(copy, options).status(), 0) << damaged;
    }
}

std::vector<MediaEvent> eventsOfMake(const Medium &old) {
    std::unique_ptr<uint8_t, decltype(&free)> base(static_cast<uint8_t *>(aligned_alloc(TBFS_BLOCK_BYTES, old.size())),
                                                   free);
    memcpy(base.get(), old.data(), old.size());
    return recorded(base.get(), [&] {
        struct tbfs_layout layout = {.journal_bytes = 0, .inode_count = 24, .label = "new"};
        EXPECT_EQ(tbfs_make({base.get(), old.size()}, &layout, 1000), 0);
    });
}

TEST(Make, ThatIsCutLeavesTheOldFileSystemNoneOrTheNewOne) {
    const struct tbfs_options options = optionsOf(TBFS_DATA_INPLACE, 8, {}, TBFS_METADATA_LOG);
    Medium old = oldMedium(options);
    std::vector<MediaEvent> events = eventsOfMake(old);
    std::set<size_t> sizes; // of the trees that were found
    for (uint64_t seed = 1; seed <= 8; seed++)
        exploreCrashes(old, events, CutBefore::EachFence, Lines, seed, [&](const Crash &crash, Medium &state) {
            Mounted mounted(state, options);
            EXPECT_TRUE(mounted.status() == 0 || !crash.is_last);
            if (mounted.status() < 0)
                return;
            EXPECT_EQ(mounted.faults(), std::vector<std::string>());
            sizes.insert(mounted.tree().size());
            EXPECT_TRUE(mounted.tree().size() == 1 || !crash.is_last);
            if (crash.is_last)
                expectBothSuperblocks(state, options);
        });
    EXPECT_EQ(sizes, (std::set<size_t>{1, 3}));
}

TEST(Make, ARepairedSuperblockIsDurableWhenTheMountReturns) {
    const struct tbfs_options options = optionsOf(TBFS_DATA_INPLACE, 8);
    Medium medium = makeMedium(60, 24);
    medium[0]++;
    std::vector<MediaEvent> events = recorded(nullptr, [&] { EXPECT_EQ(Mounted(medium, options).status(), 0); });
    exploreCrashes(medium, events, CutBefore::EachFence, Few, 1, [&](const Crash &crash, Medium &state) {
        EXPECT_EQ(Mounted(state, options).status(), 0);
        if (crash.is_last)
            expectBothSuperblocks(state, options);
    });
}

// ---- Right after a recovery ----

struct Pending {
    enum tbfs_metadata metadata;
    unsigned atomic_bytes; // of the change after the recovery
};

// The name of a test: the memory of a Pending would be printed without this.
void PrintTo(const Pending &pending, std::ostream *to) {
    *to << (pending.metadata == TBFS_METADATA_LOG ? "log, " : "undo, ") << pending.atomic_bytes << " bytes";
}

class FirstChange : public testing::TestWithParam<Pending> {};

std::vector<Medium> statesOf(const Medium &before, const std::vector<MediaEvent> &events, uint64_t seed) {
    std::vector<Medium> states;
    const Sampling sampling = {.exhaustive = 16, .random = 16, .alone = 32};
    exploreCrashes(before, events, CutBefore::EachFence, sampling, seed,
                   [&](const Crash &, Medium &state) { states.push_back(state); });
    return states;
}

// The media after a power cut during or after a change of times. With `undo` the change has not committed, with `log`
// it has.
std::vector<Medium> cutMedia(const struct tbfs_options &options) {
    Medium medium = makeMedium(60, 24);
    {
        Mounted mounted(medium, options);
        EXPECT_EQ(run(mounted.fs(), {.kind = Operation::Create, .path = "/a", .now = 2000}), 0);
        medium = mounted.medium();
    }
    Mounted mounted(medium, options);
    std::vector<MediaEvent> events = recorded(mounted.fs()->space.base, [&] {
        EXPECT_EQ(run(mounted.fs(), {.kind = Operation::Touch, .path = "/a", .now = 2500}), 0);
    });
    return statesOf(medium, events, 1);
}

// The change consists of a time and a mode; recovery may store one of them again.
TEST_P(FirstChange, ComesAfterADurableRecovery) {
    const struct tbfs_options before = optionsOf(TBFS_DATA_INPLACE, 0, {}, GetParam().metadata);
    const struct tbfs_options options = optionsOf(TBFS_DATA_INPLACE, GetParam().atomic_bytes, {}, GetParam().metadata);
    for (Medium &medium : cutMedia(before)) {
        Tree trees[2];
        std::vector<MediaEvent> events = recorded(nullptr, [&] {
            Mounted mounted(medium, options);
            trees[0] = mounted.tree();
            run(mounted.fs(), {.kind = Operation::SetMode, .path = "/a", .flags = 0600, .now = 3000});
            trees[1] = mounted.tree();
        });
        exploreCrashes(medium, events, CutBefore::EachFence, Few, 1, [&](const Crash &crash, Medium &state) {
            Mounted mounted(state, options);
            ASSERT_EQ(mounted.status(), 0);
            Tree found = mounted.tree();
            EXPECT_TRUE(found == trees[1] || (found == trees[0] && !crash.is_last)) << describe(found, trees[0]);
        });
    }
}

// The first transaction after a mount is cut: its entries may be durable, but neither its tail nor that mount's changes
// of the header. After the next mount a file changes in one store, and then a transaction with entries in the same
// place is cut.
TEST(Recovery, BeginsAGenerationThatNoEntryOfACutTransactionHas) {
    const struct tbfs_options logged = optionsOf(TBFS_DATA_INPLACE, 0), in_place = optionsOf(TBFS_DATA_INPLACE, 64);
    Medium medium = makeMedium(60, 24);
    {
        Mounted mounted(medium, logged);
        EXPECT_EQ(run(mounted.fs(), {.kind = Operation::Create, .path = "/a", .now = 2000}), 0);
        medium = mounted.medium();
    }
    std::vector<MediaEvent> first = recorded(nullptr, [&] {
        Mounted mounted(medium, logged);
        run(mounted.fs(), {.kind = Operation::SetMode, .path = "/a", .flags = 0640, .now = 2500});
    });
    for (Medium &cut : statesOf(medium, first, 1)) {
        Mounted mounted(cut, in_place);
        run(mounted.fs(), {.kind = Operation::SetMode, .path = "/a", .flags = 0600, .now = 3000});
        Medium changed = mounted.medium();
        Tree before = mounted.tree();
        std::vector<MediaEvent> second = recorded(mounted.fs()->space.base, [&] {
            run(mounted.fs(), {.kind = Operation::Create, .path = "/b", .now = 3500});
        });
        for (Medium &state : statesOf(changed, second, 2)) {
            Mounted again(state, in_place);
            Tree found = again.tree();
            EXPECT_TRUE(found == before || found == mounted.tree()) << describe(found, before);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, FirstChange,
                         testing::Values(Pending{TBFS_METADATA_UNDO, 8}, Pending{TBFS_METADATA_UNDO, 64},
                                         Pending{TBFS_METADATA_LOG, 8}, Pending{TBFS_METADATA_LOG, 64}),
                         [](const auto &info) { return std::to_string(info.index); });

} // namespace
