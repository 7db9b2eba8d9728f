// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "../reference/persist_scenario.h"

TEST(PersistRandom, AgreesWithTheReferenceAfterEveryStep) {
    const char *replay = std::getenv("MODEL_SEED"); // replays one seed
    uint64_t first = replay ? std::strtoull(replay, nullptr, 10) : 1, last = replay ? first : 600;
    for (uint64_t seed = first; seed <= last; seed++) {
        SeededChoices choices(seed, 500);
        ASSERT_EQ(run_persist_scenario(choices), "") << "replay with MODEL_SEED=" << seed;
    }
}
