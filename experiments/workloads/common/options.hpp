// SPDX-License-Identifier: BSD-3-Clause
//
// Command lines: the options of every workload, and the way for a workload to add its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace workloads {

struct Options {
    std::string engine; // only the dispatcher acts on it; the program of an engine checks it
    std::string file;
    std::string acknowledge_file; // empty: none
    uint64_t seed = 1;
    bool verify = false;
    bool marks = false;
    bool commit_time = false; // not for programs without an engine
    bool help = false;
};

// `value` is the name of the argument in the usage text; nullptr: the flag is a switch.
struct Flag {
    const char *name, *value, *help;
    std::function<void(const char *)> set;
};

std::vector<Flag> commonFlags(Options &options);
std::string usage(const char *program, const std::vector<Flag> &flags);

// Parses a number, for Flag::set. Throws std::invalid_argument.
uint64_t number(const char *name, const char *text, uint64_t least, uint64_t most);
constexpr uint64_t Many = 1'000'000'000;

// Throws std::invalid_argument with a message for the user.
void parse(int argc, char **argv, const std::vector<Flag> &flags);

} // namespace workloads
