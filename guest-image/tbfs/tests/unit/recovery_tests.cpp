// SPDX-License-Identifier: BSD-3-Clause
//
// Power cuts where no other explorer looks: while a file system is made, and in the first change after a recovery,
// whose own stores are perhaps not durable yet.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

#include "mounted.hpp"
#include "operation.hpp"

namespace {

// Each line that changes is alone there and alone missing.
constexpr Sampling Lines = {16, 16, 4096, true};

std::vector<PersistEvent> recorded(const uint8_t *base, const std::function<void()> &calls) {
    Recorder recording(base);
    recorder = &recording;
    calls();
    return recording.events;
}

// ---- While it is made ----

// With files, and with the lines that a new file system changes full of bytes.
Medium oldMedium(const struct tbfs_options &options) {
    Medium medium = makeMedium(60, 24);
    Mounted mounted(medium, options);
    EXPECT_EQ(run(mounted.fs(), {.kind = Operation::Create, .path = "/old", .now = 2000}), 0);
    EXPECT_EQ(run(mounted.fs(), {.kind = Operation::Write, .path = "/old", .bytes = 9000, .now = 2000}), 9000);
    return mounted.medium();
}

std::vector<PersistEvent> eventsOfMake(const Medium &old) {
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
    std::vector<PersistEvent> events = eventsOfMake(old);
    std::set<size_t> sizes; // of the trees that were found
    for (uint64_t seed = 1; seed <= 8; seed++)
        exploreCrashes(old, events, Lines, seed, [&](Medium &state, bool is_end) {
            Mounted mounted(state, options);
            EXPECT_TRUE(mounted.status() == 0 || !is_end);
            if (mounted.status() < 0)
                return;
            EXPECT_EQ(mounted.faults(), std::vector<std::string>());
            sizes.insert(mounted.tree().size());
            EXPECT_TRUE(mounted.tree().size() == 1 || !is_end);
        });
    EXPECT_EQ(sizes, (std::set<size_t>{1, 2}));
}

// ---- Right after a recovery ----

struct Pending {
    enum tbfs_metadata metadata;
    unsigned atomic_bytes; // of the change after it
};

class Recovery : public testing::TestWithParam<Pending> {};

// The medium of a power cut in or behind a change of mode. `undo`: it has not committed. `log`: it has.
std::vector<Medium> cutMedia(const struct tbfs_options &options) {
    std::vector<Medium> media;
    Medium medium = makeMedium(60, 24);
    {
        Mounted mounted(medium, options);
        EXPECT_EQ(run(mounted.fs(), {.kind = Operation::Create, .path = "/a", .now = 2000}), 0);
        medium = mounted.medium();
    }
    Mounted mounted(medium, options);
    std::vector<PersistEvent> events = recorded(mounted.fs()->space.base, [&] {
        EXPECT_EQ(run(mounted.fs(), {.kind = Operation::SetMode, .path = "/a", .flags = 0640, .now = 2500}), 0);
    });
    exploreCrashes(medium, events, {16, 16}, 1, [&](Medium &state, bool) { media.push_back(state); });
    return media;
}

// The change has a time and a mode, of which recovery may store one again.
TEST_P(Recovery, IsDurableBeforeTheFirstChange) {
    const struct tbfs_options before = optionsOf(TBFS_DATA_INPLACE, 0, {}, GetParam().metadata);
    const struct tbfs_options options = optionsOf(TBFS_DATA_INPLACE, GetParam().atomic_bytes, {}, GetParam().metadata);
    for (Medium &medium : cutMedia(before)) {
        Tree trees[2];
        std::vector<PersistEvent> events = recorded(nullptr, [&] {
            Mounted mounted(medium, options);
            trees[0] = mounted.tree();
            run(mounted.fs(), {.kind = Operation::SetMode, .path = "/a", .flags = 0600, .now = 3000});
            trees[1] = mounted.tree();
        });
        exploreCrashes(medium, events, {256, 16}, 1, [&](Medium &state, bool is_end) {
            Mounted mounted(state, options);
            ASSERT_EQ(mounted.status(), 0);
            Tree found = mounted.tree();
            EXPECT_TRUE(found == trees[1] || (found == trees[0] && !is_end)) << describe(found, trees[0]);
        });
    }
}

INSTANTIATE_TEST_SUITE_P(All, Recovery,
                         testing::Values(Pending{TBFS_METADATA_UNDO, 8}, Pending{TBFS_METADATA_UNDO, 64},
                                         Pending{TBFS_METADATA_LOG, 8}, Pending{TBFS_METADATA_LOG, 64}),
                         [](const auto &info) { return std::to_string(info.index); });

} // namespace
