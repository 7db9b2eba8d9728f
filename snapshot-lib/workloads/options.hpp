// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

namespace workloads {

struct Options {
    std::string engine; // only the dispatcher acts on it; the program of an engine checks it
    std::string workload = "A";
    std::string file;
    std::string acknowledge_file; // empty: none
    uint64_t records = 78125;     // 5M / 64, the scale of the checked-in experiments
    uint64_t operations = 78125;
    uint64_t buckets = 0; // 0: as many records per bucket as the paper, 5M / 3500
    uint64_t seed = 1;
    bool verify = false;
    bool marks = false;
};

extern const char Usage[];

// Throws std::invalid_argument with a sentence for the user.
Options parseOptions(int argc, char **argv);

} // namespace workloads
