// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "kv_store.hpp"
#include "options.hpp"
#include "recovery.hpp"
#include "ycsb.hpp"

namespace workloads {

inline Comparison comparisonOf(const std::string &text) {
    if (text == "strings")
        return Comparison::Strings;
    if (text == "words")
        return Comparison::Words;
    throw std::invalid_argument("--compare wants strings or words, not '" + text + "'");
}

struct KvOptions : Options {
    std::string workload = "A";
    uint64_t records = 78125; // 5M / 64, the scale of the checked-in experiments
    uint64_t operations = 78125;
    Comparison comparison = Comparison::Strings;
    uint64_t buckets = 0; // 0: as many records per bucket as in the paper, 5M / 3500
    bool latencies = false;
    std::string recovery; // empty: serve requests

    uint64_t bucketCount() const {
        constexpr uint64_t recordsPerBucket = 1428;
        return buckets ? buckets : std::max<uint64_t>(1, (records + recordsPerBucket - 1) / recordsPerBucket);
    }

    std::vector<Flag> flags() {
        return {
            {"workload", "A..G", "YCSB A to F, or G: updates only (default A)",
             [this](const char *text) { mixOf(workload = text); }},
            {"records", "N", "loaded before the measurement (default 78125)",
             [this](const char *text) { records = number("records", text, 1, Many); }},
            {"operations", "N", "requests measured (default 78125)",
             [this](const char *text) { operations = number("operations", text, 0, Many); }},
            {"buckets", "N", "default: 1428 records per bucket",
             [this](const char *text) { buckets = number("buckets", text, 1, Many); }},
            {"compare", "HOW", "keys as strings or as words (default strings)",
             [this](const char *text) { comparison = comparisonOf(text); }},
            {"latencies", nullptr, "time each request by itself: one more row for each kind of request",
             [this](const char *) { latencies = true; }},
            {"recovery", "POINT", "time to open the pool: closed, or killed before-commit, after-commit",
             [this](const char *text) { crashPointOf(recovery = text); }},
        };
    }
};

} // namespace workloads
