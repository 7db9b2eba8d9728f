// SPDX-License-Identifier: GPL-2.0-or-later
// Built with one seeded bug in the device: exit status 0 if a reference tells the two apart.
#include <cstdio>

#include "policy_trace.h"

static bool policies_differ() {
    for (uint32_t id = 0; mem_cache_policy(id); id++) {
        int hits = 0;
        if (make_reference(mem_cache_policy(id)->name, 1) && first_difference(id, 3, 12, 1, 4000, &hits) >= 0) {
            std::printf("found: %s hits where its reference misses, or the reverse\n", mem_cache_policy(id)->name);
            return true;
        }
    }
    return false;
}

int main() {
    if (policies_differ()) {
        return 0;
    }
    std::printf("not found\n");
    return 1;
}
