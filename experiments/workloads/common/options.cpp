// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <getopt.h>

#include <charconv>
#include <cstring>
#include <stdexcept>

namespace workloads {

std::vector<Flag> commonFlags(Options &options) {
    return {
        {"engine", "NAME", "must be given", [&](const char *text) { options.engine = text; }},
        {"file", "PATH", "of the pool, on the file system under test", [&](const char *text) { options.file = text; }},
        {"seed", "S", "of keys and values (default 1)",
         [&](const char *text) { options.seed = number("seed", text, 0, UINT64_MAX); }},
        {"marks", nullptr, "tell the testbed after each commit", [&](const char *) { options.marks = true; }},
        {"acknowledge", "PATH", "keep the number of commits in the first 8 bytes of PATH",
         [&](const char *text) { options.acknowledge_file = text; }},
        {"verify", nullptr, "open what an earlier run left and compare it with the state after its last commit",
         [&](const char *) { options.verify = true; }},
        {"help", nullptr, "this text", [&](const char *) { options.help = true; }},
    };
}

std::string usage(const char *program, const std::vector<Flag> &flags) {
    std::string text = std::string("usage: ") + program + " --engine NAME --file PATH [options]\n";
    for (const Flag &flag : flags) {
        std::string words = std::string("  --") + flag.name + (flag.value ? std::string(" ") + flag.value : "");
        text += words + std::string(words.size() < 24 ? 24 - words.size() : 1, ' ') + flag.help + "\n";
    }
    return text;
}

uint64_t number(const char *name, const char *text, uint64_t least, uint64_t most) {
    const char *end = text + strlen(text);
    uint64_t value = 0;
    auto [stopped, error] = std::from_chars(text, end, value);
    if (error != std::errc() || stopped != end || value < least || value > most)
        throw std::invalid_argument("--" + std::string(name) + " must be a number from " + std::to_string(least) +
                                    " to " + std::to_string(most) + ", not '" + text + "'");
    return value;
}

void parse(int argc, char **argv, const std::vector<Flag> &flags) {
    std::vector<option> table;
    for (const Flag &flag : flags)
        table.push_back({flag.name, flag.value ? required_argument : no_argument, nullptr, 0});
    table.push_back({nullptr, 0, nullptr, 0});
    opterr = 0;
    for (int index = 0, result; (result = getopt_long(argc, argv, "", table.data(), &index)) != -1;) {
        if (result == '?')
            throw std::invalid_argument(std::string("unknown option or missing value: ") + argv[optind - 1]);
        flags[static_cast<size_t>(index)].set(optarg);
    }
    if (optind != argc)
        throw std::invalid_argument("unexpected argument '" + std::string(argv[optind]) + "'");
}

} // namespace workloads
