// SPDX-License-Identifier: BSD-3-Clause
//
// The workload shared-kv: the requests of kv, dealt in turn to threads that share one store. An update returns when it
// is durable. If a commit covers the stores of all threads, one thread commits for all that wait (together.hpp), or
// each thread commits beside the stores of the others; otherwise each thread commits its own update.
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "crew.hpp"
#include "driver.hpp"
#include "kv_options.hpp"
#include "shared_store.hpp"
#include "ycsb.hpp"

namespace workloads {

struct SharedKvOptions : Options {
    std::string workload = "A";
    uint64_t records = 78125, operations = 78125, buckets = 0, threads = 2;
    Comparison comparison = Comparison::Strings;
    bool each_commits = false;

    uint64_t bucketCount() const {
        KvOptions as_kv;
        as_kv.records = records;
        as_kv.buckets = buckets;
        return as_kv.bucketCount();
    }

    void setWorkload(const std::string &text) {
        if (mixOf(text).insert > 0)
            throw std::invalid_argument("--workload " + text + " inserts, and the engines' heaps allocate for one " +
                                        "thread at a time: give A, B, C, F or G");
        workload = text;
    }

    void setCommits(const std::string &text) {
        if (text != "together" && text != "each")
            throw std::invalid_argument("--commits must be together or each, not '" + text + "'");
        each_commits = text == "each";
    }

    std::vector<Flag> flags() {
        return {
            {"threads", "N", "1 to 64 (default 2)",
             [this](const char *text) { threads = number("threads", text, 1, 64); }},
            {"workload", "LETTER", "YCSB A, B, C or F, or G: updates only (default A)",
             [this](const char *text) { setWorkload(text); }},
            {"records", "N", "loaded before the measurement (default 78125)",
             [this](const char *text) { records = number("records", text, 1, Many); }},
            {"operations", "N", "requests measured, of all threads together (default 78125)",
             [this](const char *text) { operations = number("operations", text, 0, Many); }},
            {"buckets", "N", "default: 1428 records per bucket",
             [this](const char *text) { buckets = number("buckets", text, 1, Many); }},
            {"compare", "HOW", "keys as strings or as words (default strings)",
             [this](const char *text) { comparison = comparisonOf(text); }},
            {"commits", "HOW", "one thread for all that wait, or each its own: together, each (default together)",
             [this](const char *text) { setCommits(text); }},
        };
    }
};

template <class Engine> class SharedKv {
  public:
    static constexpr const char *Name = "shared-kv";
    using Options = SharedKvOptions;

    static size_t poolBytes(const Options &options) {
        return options.records * (sizeof(Entry) + sizeof(uint32_t)) * 5 / 4 + (8u << 20);
    }

    SharedKv(Engine &engine, const Options &options)
        : options(options), engine(engine),
          store(engine, options.bucketCount(), options.threads, options.comparison, options.each_commits),
          shares(options.threads) {}

    void load() {
        store.load(options.records, keyOf, [&](uint64_t i) { return loadedValue(i, options.seed); });
    }

    std::vector<Phase> phases() {
        deal();
        crew = std::make_unique<Crew>(options.threads, [this](uint64_t thread) { serve(thread); });
        return {{"requests", [this](Progress &of_first) {
                     progress = &of_first;
                     crew->run();
                 }}};
    }

    void describe(Report &report) const {
        Share all;
        for (const Share &share : shares) {
            all.reads += share.reads;
            all.updates += share.updates;
            all.missing += share.missing;
        }
        report.add("workload", options.workload).add("threads", options.threads).add("records", options.records);
        report.add("operations", options.operations).add("buckets", options.bucketCount());
        report.add("reads", all.reads).add("updates", all.updates).add("missing", all.missing);
        report.add("updates_of_first", commits());
    }

    bool complete() const {
        for (const Share &share : shares)
            if (share.missing > 0)
                return false;
        return true;
    }

    // Updates of the first thread, which reports progress.
    uint64_t commits() const { return store.updatesOf(0); }

    // Each thread's committed updates are the first of its updates. A record must have the value of some thread's last
    // committed update of it.
    std::string difference() {
        if (store.recordsLoaded() != options.records)
            return store.recordsLoaded() ? "the pool was loaded with another number of records" : "";
        deal();
        Values last, under_way;
        for (uint64_t thread = 0; thread < options.threads; thread++)
            addUpdates(thread, last, under_way);
        uint64_t records = 0;
        std::string problem;
        store.forEach([&](const Entry &entry) {
            records++;
            std::vector<uint32_t> allowed = last[textOf(entry.key)];
            if (allowed.empty())
                allowed.push_back(loadedValue(entry.value_number, options.seed));
            if (options.each_commits)
                for (uint32_t next : under_way[textOf(entry.key)])
                    allowed.push_back(next);
            uint32_t value = store.valueOf(entry);
            if (std::find(allowed.begin(), allowed.end(), value) == allowed.end())
                problem = textOf(entry.key) + " is " + std::to_string(value);
            if (store.find(entry.key).entry != &entry)
                problem = textOf(entry.key) + " is in the wrong bucket";
        });
        return records == options.records ? problem : "there are " + std::to_string(records) + " records";
    }

  private:
    using Values = std::unordered_map<std::string, std::vector<uint32_t>>; // by key

    struct Request {
        Key key;
        uint32_t value;
        Op op;
    };
    struct alignas(64) Share {
        std::vector<Request> requests;
        uint64_t reads = 0, updates = 0, missing = 0;
        uint64_t read_sum = 0; // keeps the reads alive
    };

    static std::string textOf(const Key &key) { return std::string(key.bytes, key.length()); }

    // Makes the key strings: clients would have them before they send requests to the store.
    void deal() {
        RequestStream stream(mixOf(options.workload), options.records, options.operations, options.seed);
        for (uint64_t i = 0; i < options.operations; i++) {
            auto request = stream.next();
            shares[i % options.threads].requests.push_back({keyOf(request.key_number), request.value, request.op});
        }
    }

    // The checkpoints of other threads wait until this thread reaches its next point(), after a request.
    void serve(uint64_t thread) {
        if constexpr (engines::JoinsEpochs<Engine>)
            engine.enter();
        for (const Request &request : shares[thread].requests) {
            serve(shares[thread], request, thread);
            if constexpr (engines::JoinsEpochs<Engine>)
                engine.point();
        }
        if constexpr (engines::JoinsEpochs<Engine>)
            engine.leave();
    }

    void serve(Share &mine, const Request &request, uint64_t thread) {
        if (request.op != Op::Update)
            read(mine, request);
        if (request.op != Op::Read)
            update(mine, request, thread);
    }

    void read(Share &mine, const Request &request) {
        auto place = store.find(request.key);
        mine.reads++;
        if (place.entry)
            mine.read_sum += store.valueOf(*place.entry);
        else
            mine.missing++;
    }

    void update(Share &mine, const Request &request, uint64_t thread) {
        auto place = store.find(request.key);
        if (!place.entry) {
            mine.missing++;
            return;
        }
        store.update(place, request.value, thread);
        mine.updates++;
        if (thread == 0)
            progress->committed();
    }

    // Adds, for this thread, the value of the last committed update of each key to `last`, and the value of the first
    // update after the committed ones to `under_way`: a commit by another thread can have this value without its tally.
    void addUpdates(uint64_t thread, Values &last, Values &under_way) const {
        std::unordered_map<std::string, uint32_t> mine;
        uint64_t left = store.updatesOf(thread);
        for (const Request &request : shares[thread].requests) {
            if (request.op == Op::Read)
                continue;
            if (left-- == 0) {
                under_way[textOf(request.key)].push_back(request.value);
                break;
            }
            mine[textOf(request.key)] = request.value;
        }
        for (const auto &[key, value] : mine)
            last[key].push_back(value);
    }

    Options options;
    Engine &engine;
    SharedStore<Engine> store;
    std::vector<Share> shares;
    Progress *progress = nullptr;
    std::unique_ptr<Crew> crew; // the last member: it is destroyed before the data that its threads use
};

} // namespace workloads
