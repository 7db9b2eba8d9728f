// SPDX-License-Identifier: GPL-2.0-or-later
// libFuzzer: bytes choose the configuration and the operations; any difference from the reference is a crash.
#include <cstdio>
#include <cstdlib>

#include "../reference/system_scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ByteChoices choices(data, size);
    uint32_t cores = 1 + choices.below(4);
    std::string difference = run_system_scenario(choices, cores);
    if (!difference.empty()) {
        std::fprintf(stderr, "%s\n", difference.c_str());
        std::abort();
    }
    return 0;
}
