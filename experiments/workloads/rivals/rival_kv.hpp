// SPDX-License-Identifier: BSD-3-Clause
//
// The requests of kv on a rival's map: A to D, F and G, which do not scan. A map has no counter of commits as the other
// stores do, so verification looks for the state after a crash among the states that the requests lead to.
//
// SNAPSHOT_EPOCH_NS and SNAPSHOT_EPOCH_TRANSACTIONS define an epoch, as for `cpnvm`. Without either, each update ends
// an epoch.
#pragma once

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "environment.hpp"
#include "kv.hpp"

namespace workloads {

// The options --workload, --records and --operations of kv.
struct RivalOptions : Options {
    KvOptions requests;

    std::vector<Flag> flags() {
        std::vector<Flag> all = requests.flags();
        std::erase_if(all, [](const Flag &flag) {
            std::string name = flag.name;
            return name != "workload" && name != "records" && name != "operations";
        });
        all.front().set = [this](const char *text) {
            if (mixOf(requests.workload = text).scan > 0)
                throw std::invalid_argument("--workload E scans, and this map has no order to scan in");
        };
        return all;
    }

    KvOptions kv() const {
        KvOptions all = requests;
        all.seed = seed;
        return all;
    }
    // If a workload inserts, one in twenty of its requests does.
    uint64_t keysAtMost() const { return requests.records + requests.operations / 8; }
};

// Ends epochs of a map when they are due.
template <class Engine, class Map> class Epochs {
  public:
    Epochs(Engine &engine, Map &map)
        : engine(engine), map(map), by_clock(getenv("SNAPSHOT_EPOCH_NS")),
          period_ns(engines::environmentNumber("SNAPSHOT_EPOCH_NS", "a length in nanoseconds", 1)),
          transactions(engines::environmentNumber("SNAPSHOT_EPOCH_TRANSACTIONS", "a number of transactions", 1)),
          due_ns(nowNs() + period_ns) {}

    void changed() {
        if (by_clock ? nowNs() >= due_ns : ++changes % transactions == 0)
            end();
    }

    void end() {
        uint64_t begin_ns = nowNs();
        map.endEpoch();
        uint64_t end_ns = nowNs();
        stop_ns += end_ns - begin_ns;
        due_ns = end_ns + period_ns;
        engine.counted.commits++;
    }

    uint64_t stop_ns = 0;

  private:
    Engine &engine;
    Map &map;
    bool by_clock;
    uint64_t period_ns, transactions, due_ns, changes = 0;
};

// Finds the number of updates that lead to the state of a map, if there is such a number.
class FoundState {
  public:
    FoundState(State left, const KvOptions &options) : found(std::move(left)), options(options) {
        for (uint64_t loaded = 0; loaded < options.records; loaded++) {
            if (found.find(textOf(keyOf(loaded))) == found.end()) {
                matchLoad(loaded);
                return;
            }
        }
        matchRequests();
    }

    std::optional<uint64_t> commits; // the largest number of updates that lead to the state

  private:
    // The state may be a part of the load, without any request.
    void matchLoad(uint64_t loaded) {
        if (expectedState(options, loaded, 0) == found)
            commits = 0;
    }

    bool differs(const State &state, const std::string &key) const {
        auto mine = state.find(key), theirs = found.find(key);
        bool is_here = mine != state.end(), is_there = theirs != found.end();
        return is_here != is_there || (is_here && mine->second != theirs->second);
    }

    void matchRequests() {
        State state = expectedState(options, options.records, 0);
        uint64_t wrong = 0, made = 0;
        for (const auto &[key, value] : found)
            wrong += differs(state, key);
        if (wrong == 0)
            commits = 0;
        RequestStream stream(mixOf(options.workload), options.records, options.operations, options.seed);
        for (uint64_t i = 0; i < options.operations; i++) {
            Request request = stream.next();
            if (request.op == Op::Read)
                continue;
            std::string key = textOf(keyOf(request.key_number));
            wrong -= differs(state, key);
            state[key] = request.value;
            wrong += differs(state, key);
            made++;
            if (wrong == 0)
                commits = made;
        }
    }

    State found;
    KvOptions options;
};

// Store<Engine>: find(), update(), insert() as Client requires, forEach(), endEpoch(), and
//
//     Name                  of the program
//     bytes(options)        that the store needs
template <class Engine, template <class> class Store> class RivalKv {
  public:
    static constexpr const char *Name = Store<Engine>::Name;
    using Options = RivalOptions;

    static size_t poolBytes(const Options &options) { return Store<Engine>::bytes(options); }

    RivalKv(Engine &engine, const Options &asked)
        : options(asked.kv()), store(engine, asked), epochs(engine, store), client(*this) {
        if (engine.isTimed())
            throw std::invalid_argument("--commit-time is of engines; this program says stop_ns");
    }

    void load() {
        for (uint64_t i = 0; i < options.records; i++)
            store.insert(keyOf(i), loadedValue(i, options.seed));
        for (int lag = 0; lag < 2; lag++) // after these epochs all records are durable
            epochs.end();
        epochs.stop_ns = 0;
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
        store.forEach([&](const Key &key, uint32_t value) { sum += splitmix64(key.hash() ^ splitmix64(value)); });
        report.add("workload", options.workload).add("records", options.records);
        report.add("operations", options.operations).add("reads", counts.reads).add("updates", counts.updates);
        report.add("inserts", counts.inserts).add("missing", counts.missing).add("stop_ns", epochs.stop_ns);
        report.addHex("read_sum", counts.read_sum).addHex("checksum", sum);
    }

    bool complete() const { return client.counts.missing == 0; }

    uint64_t commits() const { return foundState().commits.value_or(0); }
    std::string difference() const {
        if (!foundState().commits)
            return "what is found is the state after no number of updates";
        State state = contents();
        for (const auto &[text, value] : state) {
            Key key{};
            memcpy(key.bytes, text.data(), text.size());
            auto record = store.find(key);
            if (!record || record->value != value)
                return text + " is not where it is looked for";
        }
        return "";
    }

    // The store interface that Client requires. An update is part of an epoch, and may end it.
    auto find(const Key &key) const { return store.find(key); }
    bool update(const Key &key, uint32_t value) {
        bool found = store.update(key, value);
        if (found)
            epochs.changed();
        return found;
    }
    void insert(const Key &key, uint32_t value) {
        store.insert(key, value);
        epochs.changed();
    }
    template <class Visit> uint64_t scan(const Key &, uint64_t, Visit &&) const {
        throw std::logic_error("no workload of this program scans");
    }

  private:
    State contents() const {
        State state;
        store.forEach([&](const Key &key, uint32_t value) { state[textOf(key)] = value; });
        return state;
    }
    FoundState foundState() const { return FoundState(contents(), options); }

    KvOptions options;
    Store<Engine> store;
    Epochs<Engine, Store<Engine>> epochs;
    Client<RivalKv> client;
    std::vector<Operation> operations;
};

struct FoundValue {
    uint32_t value;
};

inline std::optional<FoundValue> foundValue(std::optional<uint64_t> value) {
    return value ? std::optional(FoundValue{static_cast<uint32_t>(*value)}) : std::nullopt;
}

} // namespace workloads
