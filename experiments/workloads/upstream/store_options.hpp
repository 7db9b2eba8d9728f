// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of kyoto and lmdb.
#pragma once

#include <cstring>
#include <stdexcept>

#include "options.hpp"

namespace programs {

struct StoreOptions : workloads::Options {
    bool is_tree = true; // Kyoto Cabinet's TreeDB, else its HashDB
    uint64_t records = 10000;
    uint64_t transactions = 10000;
    uint64_t updates = 1; // per transaction
    bool thirds = false;  // set, remove and do nothing with equal probability, and commit at random

    // `has_kinds`: there is a choice of databases.
    std::vector<workloads::Flag> flags(bool has_kinds) {
        using workloads::number;
        std::vector<workloads::Flag> flags = {
            {"records", "N", "loaded before the measurement (default 10000)",
             [this](const char *text) { records = number("records", text, 1, 100'000'000); }},
            {"transactions", "N", "durable ones, measured (default 10000)",
             [this](const char *text) { transactions = number("transactions", text, 0, 100'000'000); }},
            {"updates", "N", "values changed by each transaction, 1 to 128 (default 1)",
             [this](const char *text) { updates = number("updates", text, 1, 128); }},
            {"mix", "sets|thirds", "set records that are there, or set, remove and do nothing, with commits at random",
             [this](const char *text) { thirds = !isFirst("mix", text, "sets", "thirds"); }},
        };
        if (has_kinds)
            flags.push_back({"db", "tree|hash", "TreeDB or HashDB (default tree)",
                             [this](const char *text) { is_tree = isFirst("db", text, "tree", "hash"); }});
        return flags;
    }

  private:
    static bool isFirst(const std::string &name, const char *text, const char *first, const char *second) {
        if (strcmp(text, first) != 0 && strcmp(text, second) != 0)
            throw std::invalid_argument("--" + name + " must be " + first + " or " + second + ", not '" + text + "'");
        return strcmp(text, first) == 0;
    }
};

} // namespace programs
