// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "../reference/scenario.h"

// MODEL_SEED=n in the environment replays one seed.
static uint64_t first_seed() {
    const char *seed = std::getenv("MODEL_SEED");
    return seed ? std::strtoull(seed, nullptr, 10) : 1;
}

TEST(Random, AgreesWithTheReferenceAfterEveryStep) {
    uint64_t first = first_seed(), last = std::getenv("MODEL_SEED") ? first : 120;
    for (uint64_t seed = first; seed <= last; seed++) {
        SeededChoices choices(seed, 500);
        ASSERT_EQ(run_scenario(choices), "") << "replay with MODEL_SEED=" << seed;
    }
}

TEST(Random, EqualSeedsGiveEqualRuns) {
    for (uint64_t seed = 1000; seed < 1005; seed++) {
        uint64_t digests[2];
        for (uint64_t &digest : digests) {
            SeededChoices choices(seed, 500);
            ASSERT_EQ(run_scenario(choices, &digest), "") << "replay with MODEL_SEED=" << seed;
        }
        EXPECT_EQ(digests[0], digests[1]) << "seed " << seed;
    }
}
