// SPDX-License-Identifier: GPL-2.0-or-later
// Built with one seeded bug in the model: exit status 0 if the reference tells the two apart.
#include <cstdio>

#include "system_scenario.h"

int main() {
    for (uint64_t seed = 1; seed <= 400; seed++) {
        SeededChoices choices(seed, 600);
        std::string difference = run_system_scenario(choices);
        if (!difference.empty()) {
            std::printf("found with seed %llu, %s\n", (unsigned long long)seed, difference.c_str());
            return 0;
        }
    }
    std::printf("not found by 400 seeds\n");
    return 1;
}
