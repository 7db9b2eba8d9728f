// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <getopt.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "ycsb.hpp"

namespace workloads {

const char Usage[] =
    "usage: kv --engine snapshot|pmdk|msync-4k|msync-2m|volatile|volatile-instrumented --workload A..G --file PATH "
    "[options]\n"
    "  --records N           records loaded before the measurement (default 78125)\n"
    "  --operations N        requests measured (default 78125)\n"
    "  --buckets N           default: 1428 records per bucket\n"
    "  --seed S              of keys and values (default 1)\n"
    "  --marks               tell the testbed after each committed update\n"
    "  --acknowledge PATH    keep the number of committed updates in the first 8 bytes of PATH\n"
    "  --verify              open what an earlier run left and compare it with the state after its last commit\n";

enum { Engine = 1, Workload, File, Records, Operations, Buckets, Seed, Marks, Verify, Acknowledge };

static const option LongOptions[] = {{"engine", required_argument, nullptr, Engine},
                                     {"workload", required_argument, nullptr, Workload},
                                     {"file", required_argument, nullptr, File},
                                     {"records", required_argument, nullptr, Records},
                                     {"operations", required_argument, nullptr, Operations},
                                     {"buckets", required_argument, nullptr, Buckets},
                                     {"seed", required_argument, nullptr, Seed},
                                     {"marks", no_argument, nullptr, Marks},
                                     {"verify", no_argument, nullptr, Verify},
                                     {"acknowledge", required_argument, nullptr, Acknowledge},
                                     {nullptr, 0, nullptr, 0}};

static uint64_t number(const char *name, const char *text, uint64_t least, uint64_t most) {
    std::string digits = text;
    uint64_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < least || value > most)
        throw std::invalid_argument("--" + std::string(name) + " must be a number from " + std::to_string(least) +
                                    " to " + std::to_string(most) + ", not '" + digits + "'");
    return value;
}

static void set(Options &options, int option, const char *value) {
    constexpr uint64_t many = 1'000'000'000;
    switch (option) {
    case Engine:
        options.engine = value;
        return;
    case Workload:
        mixOf(options.workload = value);
        return;
    case File:
        options.file = value;
        return;
    case Records:
        options.records = number("records", value, 1, many);
        return;
    case Operations:
        options.operations = number("operations", value, 0, many);
        return;
    case Buckets:
        options.buckets = number("buckets", value, 1, many);
        return;
    case Seed:
        options.seed = number("seed", value, 0, UINT64_MAX);
        return;
    case Marks:
        options.marks = true;
        return;
    case Verify:
        options.verify = true;
        return;
    case Acknowledge:
        options.acknowledge_file = value;
        return;
    default:
        throw std::invalid_argument("unknown option or missing value");
    }
}

Options parseOptions(int argc, char **argv) {
    constexpr uint64_t recordsPerBucket = 1428;
    Options options;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "", LongOptions, nullptr)) != -1;)
        set(options, option, optarg);
    if (optind != argc)
        throw std::invalid_argument("unexpected argument '" + std::string(argv[optind]) + "'");
    if (options.buckets == 0)
        options.buckets = std::max<uint64_t>(1, (options.records + recordsPerBucket - 1) / recordsPerBucket);
    if (options.file.empty() && !options.engine.starts_with("volatile"))
        throw std::invalid_argument("--file is missing: give a path on the file system under test");
    return options;
}

} // namespace workloads
