// SPDX-License-Identifier: BSD-3-Clause
//
// The journal's limits and rejected calls, and the costs of its calls.
#include <algorithm>
#include <gtest/gtest.h>

#include "store.hpp"

namespace {

constexpr uint64_t PageLines = PageBytes / FAMS_LINE_BYTES;

class Fams : public testing::Test {
  protected:
    Fams() { make(Journal); }
    void make(uint64_t journal_bytes) {
        EXPECT_EQ(fams_make(spaceOf(image), journal_bytes), 0);
        EXPECT_EQ(fams_open(&fams, spaceOf(image)), 0);
    }
    uint8_t found(uint64_t number) const { return static_cast<const uint8_t *>(fams_page(&fams, number))[0]; }
    Image image = blankImage();
    struct fams fams;
};

struct Cost {
    uint64_t fences, lines;
    bool operator==(const Cost &) const = default;
};

template <class Work> Cost costOf(Work work) {
    Recorder trace;
    recorder = &trace;
    work();
    recorder = nullptr;
    return {trace.fences(), trace.lines()};
}

// One line for the set, and one for its list. Pages of the previous commit that are not in the data yet are copied
// under the same fence.
TEST_F(Fams, CommitTakesOneFenceAndWritesEachPageTwice) {
    Update two{{1, 4}, {1, 2}}, one{{0}, {3}};
    EXPECT_EQ(costOf([&] { two.commit(fams); }), (Cost{1, 2 + 2 * PageLines}));
    EXPECT_EQ(costOf([&] { one.commit(fams); }), (Cost{1, 2 + PageLines + 2 * PageLines}));
    EXPECT_EQ(costOf([&] { fams_apply(&fams); }), (Cost{1, PageLines}));
    EXPECT_EQ(costOf([&] { fams_apply(&fams); }), (Cost{0, 0})) << "all is there";
    EXPECT_EQ(costOf([&] { fams_close(&fams); }), (Cost{0, 0}));
    EXPECT_EQ(costOf([&] { one.commit(fams); }), (Cost{1, 2 + PageLines}));
    EXPECT_EQ(costOf([&] { one.apply(fams); }), (Cost{1, PageLines}));
    EXPECT_EQ(costOf([&] { fams_close(&fams); }), (Cost{0, 0}));
    EXPECT_EQ(costOf([&] { Update{}.commit(fams); }), (Cost{0, 0}));
}

TEST_F(Fams, LongListHasALineForEightPages) {
    make(WideJournal);
    Update eight{{0, 1, 2, 3, 4, 5, 6, 7}, {1, 2, 3, 4, 5, 6, 7, 8}}, nine = eight;
    EXPECT_EQ(costOf([&] { eight.commit(fams); }), (Cost{1, 2 + 8 * PageLines}));
    fams_apply(&fams);
    nine.numbers.push_back(20);
    nine.fills.push_back(9);
    EXPECT_EQ(costOf([&] { nine.commit(fams); }), (Cost{1, 3 + 9 * PageLines}));
    EXPECT_EQ(fams_open(&fams, spaceOf(image)), 0);
    EXPECT_EQ(contentOf(fams), nine.on(Content(fams.data_pages * PageBytes)));
}

TEST_F(Fams, CapacityIsWhatHasRoomTwice) {
    EXPECT_EQ(fams.capacity, Capacity);
    EXPECT_EQ(fams.data_pages, (spaceOf(image).bytes - Journal) / PageBytes);
    EXPECT_EQ(fams_capacity_of(WideJournal), WideCapacity);
    for (uint64_t bytes = 0; bytes < 100 * PageBytes; bytes += 8) {
        uint64_t room = (std::max<uint64_t>(bytes, 128) - 128) / 2, capacity = fams_capacity_of(bytes);
        EXPECT_TRUE(capacity == 0 || fams_set_bytes(capacity) <= room) << bytes;
        EXPECT_GT(fams_set_bytes(capacity + 1), room) << bytes;
    }
    const uint64_t least = 128 + 2 * (128 + PageBytes);
    EXPECT_EQ(fams_capacity_of(least), 1u);
    for (uint64_t bytes : {uint64_t{0}, uint64_t{64}, least - 1})
        EXPECT_EQ(fams_capacity_of(bytes), 0u) << bytes;
}

TEST_F(Fams, CommitThatIsTooLargeOrBehindTheEndWritesNothing) {
    alignas(FAMS_LINE_BYTES) uint8_t page[PageBytes] = {};
    EXPECT_EQ(costOf([&] { EXPECT_EQ(fams_begin(&fams, Capacity + 1), -EFBIG); }), (Cost{0, 0}));
    EXPECT_EQ(costOf([&] { EXPECT_EQ(fams_append(&fams, fams.data_pages, page), -EINVAL); }), (Cost{0, 0}));
    EXPECT_EQ(fams_begin(&fams, 1), 0);
    for (uint64_t i = 0; i < Capacity; i++)
        EXPECT_EQ(fams_append(&fams, i, page), 0);
    EXPECT_EQ(costOf([&] { EXPECT_EQ(fams_append(&fams, 0, page), -EFBIG); }), (Cost{0, 0}));
    EXPECT_EQ(fams.committed, 0u);
}

TEST_F(Fams, CommitThatIsGivenUpIsNothing) {
    alignas(FAMS_LINE_BYTES) uint8_t page[PageBytes] = {7};
    Update{{1}, {1}}.commit(fams);
    EXPECT_EQ(fams_begin(&fams, 2), 0);
    EXPECT_EQ(fams_append(&fams, 2, page), 0);
    Update{{3}, {3}}.commit(fams);
    EXPECT_EQ(fams_open(&fams, spaceOf(image)), 0);
    EXPECT_EQ(contentOf(fams), (Update{{1, 3}, {1, 3}}.on(Content(fams.data_pages * PageBytes))));
}

TEST_F(Fams, DataHaveACommitWhenItIsApplied) {
    Update{{1, 2}, {1, 2}}.commit(fams);
    EXPECT_EQ(found(2), 0);
    Update{{2}, {3}}.commit(fams);
    EXPECT_EQ(found(1), 1) << "of the commit before";
    EXPECT_EQ(found(2), 2);
    fams_apply(&fams);
    EXPECT_EQ(found(2), 3);
}

TEST_F(Fams, StoreThatIsNoneIsRefused) {
    struct fams opened;
    fams_space shorter = spaceOf(image), none = {image.logBytes(), 64};
    shorter.bytes -= PageBytes;
    EXPECT_EQ(fams_open(&opened, shorter), -ENODATA);
    EXPECT_EQ(fams_open(&opened, none), -ENODATA);
    for (size_t byte = 0; byte < FAMS_LINE_BYTES; byte++) {
        Image other = image;
        other.logBytes()[byte] ^= 1;
        Image before = other;
        EXPECT_EQ(fams_open(&opened, spaceOf(other)), -ENODATA) << byte;
        EXPECT_EQ(memcmp(before.logBytes(), other.logBytes(), other.logSize()), 0);
    }
}

TEST_F(Fams, StoreWithoutRoomIsNotMade) {
    const fams_space space = spaceOf(image);
    auto making = [&](uint64_t bytes, uint64_t journal_bytes) {
        int status = 1;
        EXPECT_EQ(costOf([&] { status = fams_make({space.base, bytes}, journal_bytes); }), (Cost{0, 0}));
        return status;
    };
    EXPECT_EQ(making(space.bytes, Journal - 1), -EINVAL);
    EXPECT_EQ(making(space.bytes, 0), -ENOSPC);
    EXPECT_EQ(making(space.bytes, 4 * PageBytes), -ENOSPC) << "a page of journal would have no room";
    EXPECT_EQ(making(Journal, Journal), -ENOSPC) << "no data";
    EXPECT_EQ(making(Journal, 1ull << 40), -ENOSPC);
    EXPECT_EQ(making(0, Journal), -ENOSPC);
    EXPECT_EQ(fams_make({space.base, Journal + PageBytes}, Journal), 0);
}

// A new store ignores the sets that another store left, and keeps its data.
TEST_F(Fams, NewStoreHasTheDataAndNoCommits) {
    Update{{1}, {9}}.commit(fams);
    Update{{2}, {8}}.commit(fams);
    make(Journal);
    EXPECT_EQ(found(1), 9);
    EXPECT_EQ(found(2), 0);
}

// A broken invariant stops the store before the medium changes. A new opening finds the last commit.
class Broken : public Fams {
  protected:
    Broken() {
        EXPECT_EQ((Update{{1}, {1}}.commit(fams)), 0);
        EXPECT_EQ(fams_begin(&fams, 1), 0);
        EXPECT_EQ(fams_append(&fams, 3, content), 0);
    }
    void expectStopped(const char *why) {
        EXPECT_EQ(costOf([&] { EXPECT_EQ(fams_commit(&fams), -EUCLEAN); }), (Cost{0, 0}));
        EXPECT_STREQ(fams.broken, why);
        EXPECT_EQ(costOf([&] {
                      EXPECT_EQ(fams_begin(&fams, 1), -EUCLEAN);
                      EXPECT_EQ(fams_append(&fams, 3, content), -EUCLEAN);
                      EXPECT_EQ(fams_commit(&fams), -EUCLEAN);
                      EXPECT_EQ(fams_apply(&fams), -EUCLEAN);
                      EXPECT_EQ(fams_apply_page(&fams, 3, content), -EUCLEAN);
                      EXPECT_EQ(fams_apply_end(&fams), -EUCLEAN);
                      fams_close(&fams);
                  }),
                  (Cost{0, 0}));
    }
    void expectLastCommit(uint8_t left) {
        EXPECT_EQ(fams_open(&fams, spaceOf(image)), 0);
        EXPECT_EQ(fams.broken, nullptr);
        EXPECT_EQ(found(1), left);
        EXPECT_EQ(found(3), 0);
        EXPECT_EQ((Update{{3}, {4}}.commit(fams)), 0);
    }
    struct fams_set *lastSet() {
        uint64_t set = fams_set_bytes(fams.capacity);
        return reinterpret_cast<struct fams_set *>(image.logBytes() + 2 * FAMS_LINE_BYTES + set); // commit 1 is odd
    }
    alignas(FAMS_LINE_BYTES) uint8_t content[PageBytes] = {9};
};

TEST_F(Broken, PagesThatWereNotAnnounced) {
    fams.open.announced = 2;
    expectStopped("a commit has other pages than those that were announced");
    expectLastCommit(1);
}

TEST_F(Broken, MorePagesThanASetHolds) {
    fams.open.count = fams.open.announced = Capacity + 1;
    EXPECT_EQ(fams_append(&fams, 3, content), -EFBIG);
    expectStopped("a commit has other pages than those that were announced");
    expectLastCommit(1);
}

TEST_F(Broken, SetsAreUsedOutOfTurn) {
    fams.committed++;
    expectStopped("a commit would overwrite a set that the data still need");
    expectLastCommit(1);
}

TEST_F(Broken, LastSetIsOfAnotherCommit) {
    lastSet()->commit += 2;
    expectStopped("the set of the last commit was overwritten");
}

TEST_F(Broken, LastSetHasMorePagesThanFit) {
    lastSet()->count = Capacity + 1;
    expectStopped("the set of the last commit was overwritten");
}

TEST_F(Broken, LastSetHasAPageBehindTheData) {
    lastSet()->numbers[0] = fams.data_pages;
    expectStopped("the last commit has a page behind the data");
    expectLastCommit(0); // its checksum is wrong, too
}

TEST_F(Broken, PageBehindTheDataIsNotApplied) {
    EXPECT_EQ(costOf([&] { EXPECT_EQ(fams_apply_page(&fams, fams.data_pages, content), -EUCLEAN); }), (Cost{0, 0}));
    expectStopped("a page behind the data was to be applied");
    expectLastCommit(1);
}

} // namespace
