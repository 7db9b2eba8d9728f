// SPDX-License-Identifier: BSD-3-Clause
//
// The workload kv: YCSB requests on the key-value store.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driver.hpp"
#include "kv_options.hpp"
#include "kv_store.hpp"
#include "kv_verify.hpp"
#include "latency.hpp"
#include "report.hpp"
#include "ycsb.hpp"

namespace workloads {

struct Operation {
    Key key;
    uint32_t value;
    Op op;
    uint8_t scan_length;
};

struct Counts {
    uint64_t reads = 0, updates = 0, inserts = 0, scans = 0, scanned_records = 0, missing = 0;
    uint64_t read_sum = 0; // sum of the values read: keeps the reads alive, and must agree between engines
};

// Serves requests and counts them.
template <class Store> class Client {
  public:
    explicit Client(Store &store) : store(store) {}

    void serve(const Operation &operation, Progress &progress) {
        switch (operation.op) {
        case Op::Read:
            return read(operation.key);
        case Op::Update:
            return update(operation, progress);
        case Op::Insert:
            store.insert(operation.key, operation.value);
            counts.inserts++;
            return progress.committed();
        case Op::Scan:
            counts.scans++;
            counts.scanned_records += store.scan(operation.key, operation.scan_length,
                                                 [&](const Record &record) { counts.read_sum += record.value; });
            return;
        case Op::ReadModifyWrite: // two requests, as YCSB sends them
            read(operation.key);
            return update(operation, progress);
        }
    }

    Counts counts;

  private:
    void read(const Key &key) {
        auto record = store.find(key);
        counts.reads++;
        if (record)
            counts.read_sum += record->value;
        else
            counts.missing++;
    }

    void update(const Operation &operation, Progress &progress) {
        if (!store.update(operation.key, operation.value)) {
            counts.missing++;
            return;
        }
        counts.updates++;
        progress.committed();
    }

    Store &store;
};

template <class Engine> class Kv {
  public:
    static constexpr const char *Name = "kv";
    using Options = KvOptions;

    static size_t poolBytes(const Options &options) {
        constexpr size_t growth = 4; // vectors double and leave their old memory behind
        constexpr size_t record_bytes = sizeof(Entry) + sizeof(uint32_t);
        return (options.records + options.operations / 8) * record_bytes * growth + (8u << 20);
    }

    Kv(Engine &engine, const Options &options)
        : options(options), store(engine, options.bucketCount(), options.comparison), client(store) {}

    void load() {
        constexpr uint64_t batch = 256;
        for (uint64_t done = 0; done < options.records; done += batch)
            store.load(std::min(batch, options.records - done),
                       [&](uint64_t i) { return std::pair(keyOf(done + i), loadedValue(done + i, options.seed)); });
    }

    // Makes the key strings: a client would have them before it sends a request to the store.
    std::vector<Phase> phases() {
        RequestStream stream(mixOf(options.workload), options.records, options.operations, options.seed);
        operations.resize(options.operations);
        for (Operation &operation : operations) {
            Request request = stream.next();
            operation = {keyOf(request.key_number), request.value, request.op, request.scan_length};
        }
        if (options.latencies) {
            latencies = std::make_unique<Latencies<Kinds.size()>>();
            return {{"requests", [this](Progress &progress) { serveTimed(progress); }}};
        }
        return {{"requests", [this](Progress &progress) {
                     for (const Operation &operation : operations)
                         client.serve(operation, progress);
                 }}};
    }

    void describe(Report &report) const {
        const Counts &counts = client.counts;
        report.add("workload", options.workload).add("records", options.records);
        report.add("operations", options.operations).add("buckets", options.bucketCount());
        report.add("reads", counts.reads).add("updates", counts.updates).add("inserts", counts.inserts);
        report.add("scans", counts.scans).add("scanned_records", counts.scanned_records);
        report.add("missing", counts.missing).addHex("read_sum", counts.read_sum).addHex("checksum", checksum());
    }

    void printDetails(const Report &heading) const {
        if (latencies)
            latencies->print(Report(heading).add("workload", options.workload).add("records", options.records), Kinds);
    }

    bool complete() const { return client.counts.missing == 0; }
    uint64_t commits() const { return store.commits(); }
    std::string difference() const { return compare(store, options); }

  private:
    static constexpr std::array<const char *, 5> Kinds{"read", "update", "insert", "scan", "read-modify-write"}; // Op

    void serveTimed(Progress &progress) {
        latencies->calibrate(nowNs);
        for (const Operation &operation : operations) {
            uint64_t begin_ns = nowNs();
            client.serve(operation, progress);
            latencies->record(static_cast<size_t>(operation.op), nowNs() - begin_ns);
        }
    }

    // Independent of the order of the records.
    uint64_t checksum() const {
        uint64_t sum = 0;
        store.forEach([&](const Record &record) { sum += splitmix64(record.key.hash() ^ splitmix64(record.value)); });
        return sum;
    }

    Options options;
    KvStore<Engine> store;
    Client<KvStore<Engine>> client;
    std::vector<Operation> operations;
    std::unique_ptr<Latencies<Kinds.size()>> latencies; // null: requests are not timed one by one
};

} // namespace workloads
