// SPDX-License-Identifier: BSD-3-Clause
//
// The workload mtree: the requests of kv on a Masstree-like tree, which keeps the keys in order. A scan therefore
// visits the keys that follow in this order; in kv, a scan visits the neighbours in storage.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kv.hpp"
#include "mtree_check.hpp"
#include "mtree_map.hpp"

namespace workloads {

// The store interface for requests and their verification.
template <class Engine> class MtreeStore {
  public:
    using Map = MtreeMap<Engine>;
    struct Value {
        uint32_t value;
    };

    explicit MtreeStore(Engine &engine) : map(engine) {}

    uint64_t commits() const { return map.commits(); }
    uint64_t recordsLoaded() const { return map.recordsLoaded(); }

    std::optional<Value> find(const Key &key) const {
        auto value = map.find(textIn(key));
        return value ? std::optional(Value{static_cast<uint32_t>(*value)}) : std::nullopt;
    }
    bool update(const Key &key, uint32_t value) { return map.update(textIn(key), value); }
    void insert(const Key &key, uint32_t value) { map.insert(textIn(key), value); }

    template <class Next> void load(uint64_t record_count, Next &&next) {
        Key key;
        map.load(record_count, [&](uint64_t i) {
            auto record = next(i);
            key = record.first;
            return std::pair(textIn(key), record.second);
        });
    }
    template <class Visit> uint64_t scan(const Key &key, uint64_t limit, Visit &&visit) const {
        return map.scan(textIn(key), limit, [&](std::string_view text, uint64_t value) {
            Key found{};
            memcpy(found.bytes, text.data(), std::min(text.size(), sizeof(found.bytes)));
            visit(Record{found, static_cast<uint32_t>(value)});
        });
    }
    template <class Visit> void forEach(Visit &&visit) const { scan(Key{}, ~uint64_t{0}, visit); }

    MtreeCheck<Map> check() const { return MtreeCheck<Map>(map); }

  private:
    static std::string_view textIn(const Key &key) { return {key.bytes, key.length()}; }

    Map map;
};

// The options of kv, without --buckets, --compare and --latencies.
struct MtreeOptions : KvOptions {
    std::vector<Flag> flags() {
        std::vector<Flag> all = KvOptions::flags();
        std::erase_if(all, [](const Flag &flag) {
            std::string name = flag.name;
            return name == "buckets" || name == "compare" || name == "latencies";
        });
        return all;
    }
};

template <class Engine> class Mtree {
  public:
    static constexpr const char *Name = "mtree";
    using Options = MtreeOptions;

    // In the worst case, a key takes half a border node, in the tree for its bytes behind the first eight.
    static size_t poolBytes(const Options &options) {
        return (options.records + options.operations / 8) * 256 + (8u << 20);
    }

    Mtree(Engine &engine, const Options &options) : options(options), store(engine), client(store) {}

    void load() {
        constexpr uint64_t batch = 256;
        for (uint64_t done = 0; done < options.records; done += batch)
            store.load(std::min(batch, options.records - done),
                       [&](uint64_t i) { return std::pair(keyOf(done + i), loadedValue(done + i, options.seed)); });
    }

    std::vector<Phase> phases() {
        RequestStream stream(mixOf(options.workload), options.records, options.operations, options.seed);
        for (uint64_t i = 0; i < options.operations; i++) {
            Request request = stream.next();
            operations.push_back({keyOf(request.key_number), request.value, request.op, request.scan_length});
        }
        return {{"requests", [this](Progress &progress) {
                     for (const Operation &operation : operations)
                         client.serve(operation, progress);
                 }}};
    }

    void describe(Report &report) const {
        const Counts &counts = client.counts;
        uint64_t sum = 0; // equal to kv's checksum if the records are the same
        store.forEach([&](const Record &record) { sum += splitmix64(record.key.hash() ^ splitmix64(record.value)); });
        report.add("workload", options.workload).add("records", options.records);
        report.add("operations", options.operations).add("reads", counts.reads).add("updates", counts.updates);
        report.add("inserts", counts.inserts).add("scans", counts.scans);
        report.add("scanned_records", counts.scanned_records).add("missing", counts.missing);
        report.addHex("read_sum", counts.read_sum).addHex("checksum", sum);
    }

    bool complete() const { return client.counts.missing == 0; }
    uint64_t commits() const { return store.commits(); }
    std::string difference() const {
        std::string problem = store.check().problem();
        return problem.empty() ? compare(store, options) : problem;
    }

  private:
    Options options;
    MtreeStore<Engine> store;
    Client<MtreeStore<Engine>> client;
    std::vector<Operation> operations;
};

} // namespace workloads
