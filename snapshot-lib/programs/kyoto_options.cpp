// SPDX-License-Identifier: BSD-3-Clause
#include "kyoto_options.hpp"

#include <getopt.h>

#include <charconv>
#include <stdexcept>

namespace programs {

const char KyotoUsage[] =
    "usage: kyoto --engine wal|snapshot --file PATH [options]\n"
    "  --db tree|hash        TreeDB or HashDB (default tree)\n"
    "  --records N           records loaded before the measurement (default 10000)\n"
    "  --transactions N      hard transactions measured (default 10000)\n"
    "  --updates N           values changed by each transaction, 1 to 128 (default 1)\n"
    "  --seed S              of keys and values (default 1)\n"
    "  --marks               tell the testbed after each committed transaction\n"
    "  --acknowledge PATH    keep the number of committed transactions in the first 8 bytes of PATH\n"
    "  --verify              open what an earlier run left and compare it with the state after its last commit\n";

enum { Engine = 1, File, Db, Records, Transactions, Updates, Seed, Marks, Acknowledge, Verify };

static const option LongOptions[] = {{"engine", required_argument, nullptr, Engine},
                                     {"file", required_argument, nullptr, File},
                                     {"db", required_argument, nullptr, Db},
                                     {"records", required_argument, nullptr, Records},
                                     {"transactions", required_argument, nullptr, Transactions},
                                     {"updates", required_argument, nullptr, Updates},
                                     {"seed", required_argument, nullptr, Seed},
                                     {"marks", no_argument, nullptr, Marks},
                                     {"acknowledge", required_argument, nullptr, Acknowledge},
                                     {"verify", no_argument, nullptr, Verify},
                                     {nullptr, 0, nullptr, 0}};

static uint64_t number(const std::string &name, const std::string &digits, uint64_t least, uint64_t most) {
    uint64_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < least || value > most)
        throw std::invalid_argument("--" + name + " must be a number from " + std::to_string(least) + " to " +
                                    std::to_string(most) + ", not '" + digits + "'");
    return value;
}

static bool isTree(const std::string &db) {
    if (db != "tree" && db != "hash")
        throw std::invalid_argument("--db must be tree or hash, not '" + db + "'");
    return db == "tree";
}

static void set(KyotoOptions &options, int option, const char *value) {
    constexpr uint64_t many = 100'000'000;
    switch (option) {
    case Engine:
        options.engine = value;
        return;
    case File:
        options.file = value;
        return;
    case Db:
        options.is_tree = isTree(value);
        return;
    case Records:
        options.records = number("records", value, 1, many);
        return;
    case Transactions:
        options.transactions = number("transactions", value, 0, many);
        return;
    case Updates:
        options.updates = number("updates", value, 1, 128);
        return;
    case Seed:
        options.seed = number("seed", value, 0, UINT64_MAX);
        return;
    case Marks:
        options.marks = true;
        return;
    case Acknowledge:
        options.acknowledge_file = value;
        return;
    case Verify:
        options.verify = true;
        return;
    default:
        throw std::invalid_argument("unknown option or missing value");
    }
}

KyotoOptions parseKyotoOptions(int argc, char **argv) {
    KyotoOptions options;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "", LongOptions, nullptr)) != -1;)
        set(options, option, optarg);
    if (optind != argc)
        throw std::invalid_argument("unexpected argument '" + std::string(argv[optind]) + "'");
    if (options.file.empty())
        throw std::invalid_argument("--file is missing: give a path on the file system under test");
    return options;
}

} // namespace programs
