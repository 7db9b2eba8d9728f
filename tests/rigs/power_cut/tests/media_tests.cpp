// SPDX-License-Identifier: BSD-3-Clause
//
// The possible contents of persistent memory after a power cut, rule by rule.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "media.hpp"

namespace {

constexpr uint64_t Seeds = 64;
constexpr size_t Words = 3; // of a line, which are compared

MediaEvent storeOf(MediaEvent::Kind kind, size_t word, uint8_t value, unsigned core) {
    const size_t at = 8 * word;
    MediaEvent event{
        .kind = kind, .core = core, .line = at / LineBytes * LineBytes, .bytes = 0xffull << at % LineBytes};
    event.content[at % LineBytes] = value;
    return event;
}

MediaEvent store(size_t word, uint8_t value, unsigned core = 1) {
    return storeOf(MediaEvent::Store, word, value, core);
}
MediaEvent storePastCaches(size_t word, uint8_t value, unsigned core = 1) {
    return storeOf(MediaEvent::NonTemporalStore, word, value, core);
}
MediaEvent flush(unsigned core = 1) { return {.kind = MediaEvent::Flush, .core = core}; }
MediaEvent fence(unsigned core = 1) { return {.kind = MediaEvent::Fence, .core = core}; }

using States = std::set<std::string>;

// The first words of the medium in each state behind the events, as digits: in "102" the second word is 0.
States statesAfter(const std::vector<MediaEvent> &events) {
    States found;
    auto visit = [&](const Crash &crash, Medium &medium) {
        std::string content;
        for (size_t word = 0; word < Words; word++)
            content += std::to_string(medium[8 * word]);
        if (crash.is_last)
            found.insert(content);
    };
    for (uint64_t seed = 0; seed < Seeds; seed++)
        exploreCrashes(Medium(2 * LineBytes), events, CutBefore::EachFence, {.exhaustive = 256}, seed, visit);
    return found;
}

TEST(Media, StoresToALineArriveInTheirOrder) {
    EXPECT_EQ(statesAfter({store(0, 1), store(1, 1)}), (States{"000", "100", "110"}));
}

TEST(Media, AFlushAloneMakesNothingDurable) { EXPECT_EQ(statesAfter({store(0, 1), flush()}), (States{"000", "100"})); }

TEST(Media, AFenceAloneMakesNoCachedStoreDurable) {
    EXPECT_EQ(statesAfter({store(0, 1), fence()}), (States{"000", "100"}));
}

TEST(Media, AFlushAndAFenceMakeTheLineOfThenDurable) {
    EXPECT_EQ(statesAfter({store(0, 1), flush(), store(1, 1), fence()}), (States{"100", "110"}));
}

TEST(Media, AFenceIsForTheFlushesOfItsCore) {
    EXPECT_EQ(statesAfter({store(0, 1), flush(1), fence(2)}), (States{"000", "100"}));
    EXPECT_EQ(statesAfter({store(0, 1), flush(2), fence(2)}), (States{"100"}));
    EXPECT_EQ(statesAfter({store(0, 1), flush(1), fence(EveryCore)}), (States{"100"}));
}

TEST(Media, WordsPastTheCachesArriveInAnyOrder) {
    EXPECT_EQ(statesAfter({storePastCaches(1, 1), storePastCaches(0, 1)}), (States{"000", "010", "100", "110"}));
}

TEST(Media, StoresPastTheCachesToOneWordArriveInTheirOrder) {
    EXPECT_EQ(statesAfter({storePastCaches(0, 1), storePastCaches(0, 2)}), (States{"000", "100", "200"}));
}

TEST(Media, AFenceIsForTheWordsThatPassedTheCaches) {
    EXPECT_EQ(statesAfter({store(1, 1), storePastCaches(0, 1), fence()}), (States{"100", "110"}));
}

TEST(Media, AFenceIsForStoresBeforeThoseWords) {
    EXPECT_EQ(statesAfter({store(1, 1), store(0, 1), storePastCaches(0, 2), fence()}), (States{"210"}));
}

TEST(Media, AFenceIsForTheStoresPastTheCachesOfItsCore) {
    EXPECT_EQ(statesAfter({storePastCaches(0, 1, 1), fence(2)}), (States{"000", "100"}));
}

TEST(Media, AFlushIsNotForStoresPastTheCachesOfOtherCores) {
    EXPECT_EQ(statesAfter({store(0, 1, 1), storePastCaches(1, 1, 1), flush(2), fence(2)}), (States{"100", "110"}));
    EXPECT_EQ(statesAfter({storePastCaches(0, 1, 1), store(0, 2, 2), flush(2), fence(2)}), (States{"200"}));
}

TEST(Media, ACachedStoreMayArriveBeforeAnEarlierOnePastTheCaches) {
    EXPECT_EQ(statesAfter({storePastCaches(0, 1), store(1, 1), store(2, 1)}),
              (States{"000", "010", "011", "100", "110", "111"}));
}

TEST(Media, AStoreOfTheDurableBytesIsNoChoice) {
    EXPECT_EQ(statesAfter({store(0, 0), storePastCaches(1, 0)}), (States{"000"}));
    EXPECT_EQ(statesAfter({store(0, 1), store(0, 0)}), (States{"000", "100"}));
}

TEST(Media, AWholeLinePastTheCachesIsTorn) {
    MediaEvent line{.kind = MediaEvent::NonTemporalStore, .bytes = ~0ull};
    for (size_t word = 0; word < Words; word++)
        line.content[8 * word] = 1;
    EXPECT_EQ(statesAfter({line}).size(), 8u);
}

TEST(Media, CutsAreBeforeEachEventOrEachFence) {
    const std::vector<MediaEvent> events = {store(0, 1), flush(), fence(), store(1, 1)};
    auto positions = [&](CutBefore cut, size_t passed) {
        std::set<size_t> found;
        exploreCrashes(
            Medium(LineBytes), events, cut, {}, 1,
            [&](const Crash &crash, Medium &) {
                found.insert(crash.position);
                EXPECT_EQ(crash.is_last, crash.position == events.size());
            },
            passed);
        return found;
    };
    EXPECT_EQ(positions(CutBefore::EachEvent, 0), (std::set<size_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(positions(CutBefore::EachEvent, 3), (std::set<size_t>{3, 4}));
    EXPECT_EQ(positions(CutBefore::EachFence, 0), (std::set<size_t>{2, 4}));
}

} // namespace
