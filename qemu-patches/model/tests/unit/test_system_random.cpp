// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "../reference/system_scenario.h"

namespace {

// MODEL_SEED=n in the environment replays one seed. All seeds together increment every counter.
void compare(uint32_t cores, uint64_t seeds, uint32_t steps) {
    const char *seed_text = std::getenv("MODEL_SEED");
    uint64_t first = seed_text ? std::strtoull(seed_text, nullptr, 10) : 1, last = seed_text ? first : seeds;
    MemCounters sum = {};
    for (uint64_t seed = first; seed <= last; seed++) {
        SeededChoices choices(seed, steps);
        MemCounters counters;
        ASSERT_EQ(run_system_scenario(choices, cores, &counters), "") << "replay with MODEL_SEED=" << seed;
        memsys_add_counters(&sum, &counters);
    }
#define X(field, what)                                                                                                 \
    std::printf("%-26s %14llu\n", #field, (unsigned long long)sum.field);                                              \
    EXPECT_TRUE(seed_text || sum.field > 0) << "nothing has counted as " #field;
    MEM_COUNTERS(X)
    MEM_ERROR_COUNTERS(X)
    if (cores > 1) {
        MEM_COHERENCE_COUNTERS(X)
    }
#undef X
}

} // namespace

TEST(SystemRandom, AgreesWithTheReferenceAfterEveryStep) { compare(1, 150, 1200); }

TEST(SystemRandom, TwoCoresAgreeWithTheReferenceAfterEveryStep) { compare(2, 150, 1200); }

TEST(SystemRandom, FourCoresAgreeWithTheReferenceAfterEveryStep) { compare(4, 100, 1600); }
