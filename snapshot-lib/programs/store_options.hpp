// SPDX-License-Identifier: BSD-3-Clause
//
// What kyoto and lmdb take on the command line.
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
        };
        if (has_kinds)
            flags.push_back({"db", "tree|hash", "TreeDB or HashDB (default tree)",
                             [this](const char *text) { is_tree = isTree(text); }});
        return flags;
    }

  private:
    static bool isTree(const char *db) {
        if (strcmp(db, "tree") != 0 && strcmp(db, "hash") != 0)
            throw std::invalid_argument("--db must be tree or hash, not '" + std::string(db) + "'");
        return strcmp(db, "tree") == 0;
    }
};

} // namespace programs
