// SPDX-License-Identifier: BSD-3-Clause
//
// stl-map-STORE: numbers to numbers, in a std::map on a persistent heap or in a store that others wrote. Insertions,
// replacements and deletions, each durable when it returns. ENGINE, STORE and STORE_HEADER are definitions of the
// build.
#include STORE_HEADER

#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <map>

#include "clock.hpp"
#include "latency.hpp"
#include "options.hpp"
#include "random.hpp"
#include "report.hpp"
#include "testbed_roi.h"

namespace stores {

struct Options : workloads::Options {
    uint64_t records = 10000, requests = 1000;
    bool kill = false;

    std::vector<workloads::Flag> flags() {
        using workloads::number;
        return {
            {"records", "N", "loaded before the measurement (default 10000)",
             [this](const char *text) { records = number("records", text, 1, 100'000'000); }},
            {"requests", "N", "of each kind (default 1000)",
             [this](const char *text) { requests = number("requests", text, 1, 100'000'000); }},
            {"kill", nullptr, "end by SIGKILL after the last insertion, open the store again, and look for all of them",
             [this](const char *) { kill = true; }},
        };
    }
};

// No two numbers have the same key; all are positive for stores with signed keys.
static uint64_t keyOf(uint64_t number) { return workloads::splitmix64(number) >> 1; }
static uint64_t loadedValue(uint64_t number, uint64_t seed) { return workloads::splitmix64(seed ^ number << 1) >> 1; }

static void load(STORE &store, uint64_t from, uint64_t to, uint64_t seed) {
    for (uint64_t i = from; i < to; i++)
        store.insert(keyOf(i), loadedValue(i, seed));
}

template <class Call> static void phase(const Options &options, const char *name, unsigned region, Call &&call) {
    workloads::LatencyHistogram latencies;
    uint64_t sum_ns = 0;
    testbed_roi_begin(region);
    uint64_t begin_ns = workloads::nowNs();
    for (uint64_t i = 0; i < options.requests; i++) {
        uint64_t call_ns = workloads::nowNs();
        call(i);
        uint64_t took_ns = workloads::nowNs() - call_ns;
        sum_ns += took_ns;
        latencies.record(took_ns);
    }
    uint64_t roi_ns = workloads::nowNs() - begin_ns;
    testbed_roi_end();
    workloads::Report row;
    row.add("program", "stl-map").add("engine", ENGINE).add("operation", name).add("records", options.records);
    row.add("requests", options.requests).add("roi_ns", roi_ns).add("response_ns", sum_ns / options.requests);
    row.add("p99_ns", latencies.quantile(99'000)).add("longest_ns", latencies.max()).add("seed", options.seed).print();
}

static void compare(STORE &store, const std::map<uint64_t, uint64_t> &expected, uint64_t gone_from, uint64_t gone_to) {
    uint64_t value;
    for (const auto &[key, wanted] : expected)
        if (!store.get(key, value) || value != wanted)
            throw std::runtime_error("the key " + std::to_string(key) + " is missing or has another value");
    for (uint64_t i = gone_from; i < gone_to; i++)
        if (store.get(keyOf(i), value))
            throw std::runtime_error("the key " + std::to_string(keyOf(i)) + " is there and was deleted");
}

static int run(const Options &options) {
    uint64_t all = options.records + options.requests;
    std::map<uint64_t, uint64_t> expected;
    for (uint64_t i = 0; i < options.records; i++)
        expected[keyOf(i)] = loadedValue(i, options.seed);
    {
        STORE store(options.file, all, true);
        load(store, 0, options.records, options.seed);
        workloads::Random random(options.seed);
        phase(options, "insert", 1, [&](uint64_t i) {
            store.insert(keyOf(options.records + i), loadedValue(options.records + i, options.seed));
        });
        phase(options, "replace", 2, [&](uint64_t) {
            uint64_t key = keyOf(random.below(options.records)), value = random.next() >> 1;
            store.replace(key, value);
            expected[key] = value;
        });
        phase(options, "delete", 3, [&](uint64_t i) { store.remove(keyOf(options.records + i)); });
        compare(store, expected, options.records, all);
    }
    STORE store(options.file, all, false);
    compare(store, expected, options.records, all);
    return 0;
}

// Whether all that had returned is there after the process was killed.
static int killed(const Options &options) {
    pid_t child = fork();
    if (child == 0) {
        STORE store(options.file, options.records, true);
        load(store, 0, options.records, options.seed);
        raise(SIGKILL);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
        throw std::runtime_error("the process that was to be killed ended otherwise");
    STORE store(options.file, options.records, false);
    std::map<uint64_t, uint64_t> expected;
    for (uint64_t i = 0; i < options.records; i++)
        expected[keyOf(i)] = loadedValue(i, options.seed);
    compare(store, expected, 0, 0);
    workloads::Report row;
    row.add("program", "stl-map-killed").add("engine", ENGINE).add("acknowledged", options.records);
    row.addBool("verified", true).print();
    return 0;
}

} // namespace stores

int main(int argc, char **argv) {
    stores::Options options;
    std::vector<workloads::Flag> flags = workloads::commonFlags(options);
    for (workloads::Flag &flag : options.flags())
        flags.push_back(flag);
    try {
        workloads::parse(argc, argv, flags);
        if (options.help)
            return fputs(workloads::usage("stl-map", flags).c_str(), stdout) < 0;
        if (!options.engine.empty() && options.engine != ENGINE)
            throw std::invalid_argument("this is the program of the engine " ENGINE);
        if (options.file.empty())
            throw std::invalid_argument("--file is missing: give a path on the file system under test");
        return options.kill ? stores::killed(options) : stores::run(options);
    } catch (const std::invalid_argument &error) {
        fprintf(stderr, "stl-map: %s\n%s", error.what(), workloads::usage("stl-map", flags).c_str());
    } catch (const std::exception &error) {
        fprintf(stderr, "stl-map: %s\n", error.what());
    }
    return 2;
}
