// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

namespace programs {

struct KyotoOptions {
    std::string engine; // only the dispatcher acts on it
    std::string file;
    std::string acknowledge_file; // empty: none
    bool is_tree = true;          // TreeDB, else HashDB
    uint64_t records = 10000;
    uint64_t transactions = 10000;
    uint64_t updates = 1; // per transaction
    uint64_t seed = 1;
    bool verify = false;
    bool marks = false;
};

extern const char KyotoUsage[];

// Throws std::invalid_argument with a sentence for the user.
KyotoOptions parseKyotoOptions(int argc, char **argv);

} // namespace programs
