// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "../reference/system_scenario.h"

// MODEL_SEED=n in the environment replays one seed. All seeds together make every counter count.
TEST(SystemRandom, AgreesWithTheReferenceAfterEveryStep) {
    const char *seed_text = std::getenv("MODEL_SEED");
    uint64_t first = seed_text ? std::strtoull(seed_text, nullptr, 10) : 1, last = seed_text ? first : 150;
    MemCounters sum = {};
    for (uint64_t seed = first; seed <= last; seed++) {
        SeededChoices choices(seed, 1200);
        MemCounters counters;
        ASSERT_EQ(run_system_scenario(choices, &counters), "") << "replay with MODEL_SEED=" << seed;
#define X(field, what) sum.field += counters.field;
        MEM_COUNTERS(X)
#undef X
    }
#define X(field, what)                                                                                                 \
    std::printf("%-26s %14llu\n", #field, (unsigned long long)sum.field);                                              \
    EXPECT_TRUE(seed_text || sum.field > 0) << "nothing has counted as " #field;
    MEM_COUNTERS(X)
#undef X
}
