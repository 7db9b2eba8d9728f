// SPDX-License-Identifier: BSD-3-Clause
//
// pmdk-examples: PMDK's own structures with the operations of the list and B-tree workloads. The requested operation is
// the region of interest; its records are inserted before, outside of it.
#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "options.hpp"
#include "pmdk_structures.hpp"
#include "report.hpp"
#include "testbed_roi.h"
#include "ycsb.hpp"

namespace programs {

struct Options {
    std::string structure, operation, file;
    uint64_t records = 10000, seed = 1;

    std::vector<workloads::Flag> flags() {
        using workloads::number;
        return {
            {"structure", "NAME", "btree, hashmap or list", [this](const char *text) { structure = text; }},
            {"operation", "NAME", "insert, read (not of a list), traverse or delete",
             [this](const char *text) { operation = text; }},
            {"file", "PATH", "of the pool, on the file system under test", [this](const char *text) { file = text; }},
            {"records", "N", "inserted, and each read or deleted once (default 10000)",
             [this](const char *text) { records = number("records", text, 1, 100'000'000); }},
            {"seed", "S", "of keys and values (default 1)",
             [this](const char *text) { seed = number("seed", text, 0, UINT64_MAX); }},
        };
    }
};

// Distinct keys in random order.
static std::vector<uint64_t> keysOf(const Options &options) {
    std::vector<uint64_t> keys(options.records);
    for (uint64_t i = 0; i < options.records; i++)
        keys[i] = workloads::splitmix64(options.seed + i);
    return keys;
}

struct Result {
    uint64_t operations = 0, read_sum = 0;
};

using Operation = std::function<Result(Structure &, const std::vector<uint64_t> &)>;

static const std::vector<std::pair<std::string, Operation>> Operations = {
    {"insert",
     [](Structure &structure, const std::vector<uint64_t> &keys) {
         for (uint64_t key : keys)
             structure.insert(key, key >> 8);
         return Result{keys.size(), 0};
     }},
    {"read",
     [](Structure &structure, const std::vector<uint64_t> &keys) {
         Result result{keys.size(), 0};
         for (auto key = keys.rbegin(); key != keys.rend(); key++)
             result.read_sum += structure.read(*key);
         return result;
     }},
    {"traverse",
     [](Structure &structure, const std::vector<uint64_t> &keys) { return Result{keys.size(), structure.traverse()}; }},
    {"delete",
     [](Structure &structure, const std::vector<uint64_t> &keys) {
         for (uint64_t key : keys)
             structure.erase(key);
         return Result{keys.size(), structure.traverse()};
     }},
};

static uint64_t nowNs() {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

static void measure(Structure &structure, const std::vector<uint64_t> &keys, const Options &options,
                    const Operation &operation) {
    testbed_roi_begin(1);
    uint64_t begin_ns = nowNs();
    Result result = operation(structure, keys);
    uint64_t roi_ns = nowNs() - begin_ns;
    testbed_roi_end();
    workloads::Report report;
    report.add("program", "pmdk-examples").add("structure", options.structure).add("operation", options.operation);
    report.add("records", options.records).add("seed", options.seed).add("roi_ns", roi_ns);
    report.add("operations", result.operations).addHex("read_sum", result.read_sum).print();
}

static int run(const Options &options) {
    constexpr size_t record_bytes = 256, pool_bytes = 32u << 20; // hashmap: old and new table live at once
    std::vector<uint64_t> keys = keysOf(options);
    auto structure = makeStructure(options.structure, options.file, pool_bytes + record_bytes * options.records);
    for (const auto &[name, operation] : Operations) {
        if (name == options.operation) {
            measure(*structure, keys, options, operation);
            return 0;
        }
        if (name == "insert")
            operation(*structure, keys);
    }
    throw std::invalid_argument("--operation must be insert, read, traverse or delete, not '" + options.operation +
                                "'");
}

} // namespace programs

int main(int argc, char **argv) {
    programs::Options options;
    std::vector<workloads::Flag> flags = options.flags();
    try {
        workloads::parse(argc, argv, flags);
        if (options.file.empty())
            throw std::invalid_argument("--file is missing: give a path on the file system under test");
        return programs::run(options);
    } catch (const std::invalid_argument &error) {
        fprintf(stderr, "pmdk-examples: %s\n%s", error.what(), workloads::usage("pmdk-examples", flags).c_str());
    } catch (const std::exception &error) {
        fprintf(stderr, "pmdk-examples: %s\n", error.what());
    }
    return 2;
}
