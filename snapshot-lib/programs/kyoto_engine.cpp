// SPDX-License-Identifier: BSD-3-Clause
//
// kyoto-wal and kyoto-snapshot: the same program on stock Kyoto Cabinet and on the patched one. Load, run hard
// transactions in the region of interest, report; or verify what a crash left.
#include <chrono>
#include <cstdio>
#include <unordered_map>
#include <vector>

#include "acknowledge.hpp"
#include "kyoto_options.hpp"
#include "kyoto_store.hpp"
#include "report.hpp"
#include "testbed_roi.h"

namespace programs {

static constexpr uint64_t LoadBatch = 256;

using Contents = std::unordered_map<std::string, uint64_t>;

struct Update {
    std::string key;
    uint64_t value;
};

static uint64_t nowNs() {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

// Neighbouring numbers are far apart in the tree.
static std::string keyText(uint64_t number) { return "user" + std::to_string(workloads::splitmix64(number)); }

static uint64_t loadedValue(uint64_t number, uint64_t seed) { return workloads::splitmix64(seed ^ number << 1); }

// All updates of all transactions, in order: a client would have them before it asks the store.
static std::vector<Update> updatesOf(const KyotoOptions &options) {
    workloads::Random random(options.seed);
    std::vector<Update> updates(options.transactions * options.updates);
    for (Update &update : updates)
        update = {keyText(random.below(options.records)), random.next()};
    return updates;
}

static void load(KyotoStore &store, const KyotoOptions &options) {
    for (uint64_t done = 0; done < options.records; done += LoadBatch) {
        uint64_t count = std::min(LoadBatch, options.records - done);
        store.begin();
        for (uint64_t i = done; i < done + count; i++)
            store.set(keyText(i), loadedValue(i, options.seed));
        store.commit(count);
    }
}

static uint64_t runTransactions(KyotoStore &store, const KyotoOptions &options, const std::vector<Update> &updates,
                                workloads::Acknowledge &acknowledge) {
    const Update *next = updates.data();
    testbed_roi_begin(1);
    uint64_t begin_ns = nowNs();
    for (uint64_t i = 0; i < options.transactions; i++) {
        store.begin();
        for (uint64_t j = 0; j < options.updates; j++, next++)
            store.set(next->key, next->value);
        store.commit(0);
        acknowledge.set(i + 1);
        if (options.marks)
            testbed_mark(static_cast<uint32_t>(i + 1));
    }
    uint64_t roi_ns = nowNs() - begin_ns;
    testbed_roi_end();
    return roi_ns;
}

static KyotoShape shapeOf(const KyotoOptions &options) {
    return {options.is_tree, options.records, kyotoMapBytes(options.records)};
}

static void addOptions(workloads::Report &report, const KyotoOptions &options) {
    report.add("engine", KYOTO_ENGINE).add("db", options.is_tree ? "tree" : "hash").add("records", options.records);
    report.add("transactions", options.transactions).add("updates", options.updates).add("seed", options.seed);
}

static int run(const KyotoOptions &options) {
    KyotoStore store(options.file, shapeOf(options), true);
    uint64_t load_begin_ns = nowNs();
    load(store, options);
    uint64_t load_ns = nowNs() - load_begin_ns;
    std::vector<Update> updates = updatesOf(options);
    workloads::Acknowledge acknowledge(options.acknowledge_file);
    uint64_t roi_ns = runTransactions(store, options, updates, acknowledge);
    workloads::Report report;
    report.add("program", "kyoto");
    addOptions(report, options);
    report.add("roi_ns", roi_ns).add("load_ns", load_ns).add("commits", store.commits());
    report.addHex("checksum", store.checksum()).print();
    return 0;
}

static Contents expectedContents(const KyotoOptions &options, uint64_t records_loaded, uint64_t commits) {
    if (commits > options.transactions)
        throw std::runtime_error("the database has seen more commits than the options make");
    if (records_loaded > options.records || (commits > 0 && records_loaded != options.records))
        throw std::runtime_error("the database says it loaded " + std::to_string(records_loaded) + " records");
    Contents contents;
    for (uint64_t i = 0; i < records_loaded; i++)
        contents[keyText(i)] = loadedValue(i, options.seed);
    std::vector<Update> updates = updatesOf(options);
    for (uint64_t i = 0; i < commits * options.updates; i++)
        contents[updates[i].key] = updates[i].value;
    return contents;
}

// Empty: every record is there once, has its value, and is found by its key.
static std::string compare(KyotoStore &store, const KyotoOptions &options) {
    Contents expected = expectedContents(options, store.recordsLoaded(), store.commits());
    for (const auto &[key, value] : expected)
        if (uint64_t found; !store.get(key, found) || found != value)
            return key + " is missing or has another value";
    uint64_t count = 0;
    store.forEach([&](const std::string &key, uint64_t value) {
        auto wanted = expected.find(key);
        count += wanted != expected.end() && wanted->second == value ? 1 : expected.size() + 1;
    });
    return count == expected.size() ? "" : "a walk over the database meets other records than look-ups";
}

static int verify(const KyotoOptions &options) {
    std::string problem;
    uint64_t commits = 0, records_loaded = 0;
    try {
        KyotoStore store(options.file, shapeOf(options), false);
        commits = store.commits();
        records_loaded = store.recordsLoaded();
        problem = compare(store, options);
    } catch (const std::exception &error) {
        problem = error.what();
    }
    workloads::Report report;
    report.add("program", "kyoto-verify");
    addOptions(report, options);
    report.addBool("verified", problem.empty()).add("commits", commits).add("records_loaded", records_loaded);
    report.add("problem", problem).print();
    return problem.empty() ? 0 : 1;
}

static int runProgram(int argc, char **argv) {
    KyotoOptions options = parseKyotoOptions(argc, argv);
    if (!options.engine.empty() && options.engine != KYOTO_ENGINE)
        throw std::invalid_argument("this is the program of the engine " KYOTO_ENGINE);
    return options.verify ? verify(options) : run(options);
}

} // namespace programs

int main(int argc, char **argv) {
    try {
        return programs::runProgram(argc, argv);
    } catch (const std::invalid_argument &error) {
        fprintf(stderr, "kyoto: %s\n%s", error.what(), programs::KyotoUsage);
    } catch (const std::exception &error) {
        fprintf(stderr, "kyoto: %s\n", error.what());
    }
    return 2;
}
