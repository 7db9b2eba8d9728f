// SPDX-License-Identifier: GPL-2.0-or-later
// Built with one seeded bug in the model: runs random scenarios until one shows a difference from the reference.
#ifndef TESTS_HUNT_H
#define TESTS_HUNT_H

#include <cstdio>
#include <string>

#include "../reference/scenario.h"

// `run` returns a description of the difference, or "". Returns the exit status: 0 if a difference was found.
template <typename Run> int hunt(Run run, uint64_t seeds, uint32_t steps) {
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        SeededChoices choices(seed, steps);
        std::string difference = run(choices);
        if (!difference.empty()) {
            std::printf("found with seed %llu, %s\n", (unsigned long long)seed, difference.c_str());
            return 0;
        }
    }
    std::printf("not found by %llu seeds\n", (unsigned long long)seeds);
    return 1;
}

#endif
