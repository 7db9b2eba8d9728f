// SPDX-License-Identifier: BSD-3-Clause
//
// Load, run the requests in the region of interest, report.
#pragma once

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "acknowledge.hpp"
#include "engine.hpp"
#include "kv_store.hpp"
#include "options.hpp"
#include "report.hpp"
#include "testbed_roi.h"
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
    uint64_t read_sum = 0; // of the values seen: keeps the reads alive, and must agree between engines
};

// The key string is made here: a client would have it before it asks the store.
inline std::vector<Operation> operationsOf(const Options &options) {
    RequestStream stream(mixOf(options.workload), options.records, options.operations, options.seed);
    std::vector<Operation> operations(options.operations);
    for (Operation &operation : operations) {
        Request request = stream.next();
        operation = {keyOf(request.key_number), request.value, request.op, request.scan_length};
    }
    return operations;
}

inline uint64_t nowNs() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// Independent of the order of the records.
template <class Store> uint64_t stateChecksum(const Store &store) {
    uint64_t sum = 0;
    store.forEach([&](const Record &record) { sum += splitmix64(record.key.hash() ^ splitmix64(record.value)); });
    return sum;
}

template <class Store> void loadRecords(Store &store, const Options &options) {
    constexpr uint64_t batch = 256;
    for (uint64_t done = 0; done < options.records; done += batch)
        store.load(std::min(batch, options.records - done),
                   [&](uint64_t i) { return std::pair(keyOf(done + i), loadedValue(done + i, options.seed)); });
}

template <class Store> class Driver {
  public:
    Driver(Store &store, bool marks, Acknowledge &acknowledge) : store(store), marks(marks), acknowledge(acknowledge) {}

    void run(const Operation &operation) {
        switch (operation.op) {
        case Op::Read:
            return read(operation.key);
        case Op::Update:
            return update(operation);
        case Op::Insert:
            store.insert(operation.key, operation.value);
            counts.inserts++;
            return committed();
        case Op::Scan:
            counts.scans++;
            counts.scanned_records += store.scan(operation.key, operation.scan_length,
                                                 [&](const Record &record) { counts.read_sum += record.value; });
            return;
        case Op::ReadModifyWrite: // two requests, as YCSB sends them
            read(operation.key);
            return update(operation);
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

    void update(const Operation &operation) {
        if (!store.update(operation.key, operation.value)) {
            counts.missing++;
            return;
        }
        counts.updates++;
        committed();
    }

    void committed() {
        commits++;
        acknowledge.set(commits);
        if (marks)
            testbed_mark(static_cast<uint32_t>(commits));
    }

    Store &store;
    bool marks;
    Acknowledge &acknowledge;
    uint64_t commits = 0;
};

inline size_t poolBytes(const Options &options) {
    constexpr size_t growth = 4; // vectors double and leave their old memory behind
    constexpr size_t record_bytes = sizeof(Entry) + sizeof(uint32_t);
    size_t bytes = (options.records + options.operations / 8) * record_bytes * growth + (8u << 20);
    return (bytes + 4095) / 4096 * 4096;
}

template <class Engine> int runWorkload(const Options &options) {
    Engine engine(options.file, poolBytes(options), engines::OpenMode::Create);
    KvStore<Engine> store(engine, options.buckets);
    uint64_t load_begin_ns = nowNs();
    loadRecords(store, options);
    uint64_t load_ns = nowNs() - load_begin_ns;
    std::vector<Operation> operations = operationsOf(options);
    Acknowledge acknowledge(options.acknowledge_file);
    Driver<KvStore<Engine>> driver(store, options.marks, acknowledge);
    engines::Statistics before = engine.statistics();

    testbed_roi_begin(1);
    uint64_t roi_begin_ns = nowNs();
    for (const Operation &operation : operations)
        driver.run(operation);
    uint64_t roi_ns = nowNs() - roi_begin_ns;
    testbed_roi_end();

    engines::Statistics after = engine.statistics();
    const Counts &counts = driver.counts;
    Report report;
    report.add("program", "kv").add("engine", Engine::Name).add("workload", options.workload);
    report.add("records", options.records).add("operations", options.operations).add("buckets", options.buckets);
    report.add("seed", options.seed).add("roi_ns", roi_ns).add("load_ns", load_ns);
    report.add("reads", counts.reads).add("updates", counts.updates).add("inserts", counts.inserts);
    report.add("scans", counts.scans).add("scanned_records", counts.scanned_records).add("missing", counts.missing);
    report.addHex("read_sum", counts.read_sum).addHex("checksum", stateChecksum(store));
    report.add("commits", after.commits - before.commits).add("log_bytes", after.log_bytes - before.log_bytes);
    report.add("data_bytes", after.data_bytes - before.data_bytes).add("fences", after.fences - before.fences);
    report.print();
    return counts.missing == 0 ? 0 : 1;
}

} // namespace workloads
