// SPDX-License-Identifier: BSD-3-Clause
//
// kyoto-wal, kyoto-snapshot, lmdb-msync, lmdb-snapshot: one program on a store that others wrote, as it is and on
// Snapshot. Load, run durable transactions in the region of interest, report; or verify the file after a crash.
// PROGRAM, ENGINE, STORE and STORE_HEADER are definitions of the build.
#include STORE_HEADER

#include <chrono>
#include <cstdio>
#include <unordered_map>

#include "progress.hpp"
#include "report.hpp"
#include "store_options.hpp"
#include "ycsb.hpp"

namespace programs {

static constexpr uint64_t LoadBatch = 256;

using Contents = std::unordered_map<std::string, uint64_t>;

// One iteration of the measured loop.
struct Update {
    enum class Kind { Set, Remove, Nothing };
    Kind kind = Kind::Set;
    std::string key;
    uint64_t value;
    bool commits; // the transaction ends with it
};

static uint64_t nowNs() {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

// Neighbouring numbers are far apart in the tree.
static std::string keyText(uint64_t number) { return "user" + std::to_string(workloads::splitmix64(number)); }

static uint64_t loadedValue(uint64_t number, uint64_t seed) { return workloads::splitmix64(seed ^ number << 1); }

// All updates of all transactions, in order: a client would have them before it asks the store.
static std::vector<Update> updatesOf(const StoreOptions &options) {
    workloads::Random random(options.seed);
    std::vector<Update> updates(options.transactions * options.updates);
    for (size_t i = 0; i < updates.size(); i++) {
        auto kind = options.thirds ? Update::Kind(random.below(3)) : Update::Kind::Set;
        bool commits = options.thirds ? random.below(options.updates) == 0 : (i + 1) % options.updates == 0;
        updates[i] = {kind, keyText(random.below(options.records)), random.next(), commits || i + 1 == updates.size()};
    }
    return updates;
}

static void load(STORE &store, const StoreOptions &options) {
    for (uint64_t done = 0; done < options.records; done += LoadBatch) {
        uint64_t count = std::min(LoadBatch, options.records - done);
        store.begin();
        for (uint64_t i = done; i < done + count; i++)
            store.set(keyText(i), loadedValue(i, options.seed));
        store.commit(count);
    }
}

static void apply(STORE &store, const Update &update) {
    switch (update.kind) {
    case Update::Kind::Set:
        return store.set(update.key, update.value);
    case Update::Kind::Remove:
        return store.remove(update.key);
    case Update::Kind::Nothing:
        return;
    }
}

static uint64_t runTransactions(STORE &store, const StoreOptions &options, const std::vector<Update> &updates) {
    bool begins = true;
    workloads::Progress progress(options);
    testbed_roi_begin(1);
    uint64_t begin_ns = nowNs();
    for (const Update &update : updates) {
        if (begins)
            store.begin();
        apply(store, update);
        if ((begins = update.commits)) {
            store.commit(0);
            progress.committed();
        }
    }
    uint64_t roi_ns = nowNs() - begin_ns;
    testbed_roi_end();
    return roi_ns;
}

// Independent of the order of the records.
static uint64_t checksumOf(STORE &store) {
    uint64_t sum = 0;
    store.forEach([&](const std::string &key, uint64_t value) {
        uint64_t hash = 0;
        for (char c : key)
            hash = workloads::splitmix64(hash ^ static_cast<unsigned char>(c));
        sum += workloads::splitmix64(hash ^ workloads::splitmix64(value));
    });
    return sum;
}

static void addOptions(workloads::Report &report, const StoreOptions &options) {
    report.add("engine", ENGINE).add("records", options.records);
    if (STORE::HasKinds)
        report.add("db", options.is_tree ? "tree" : "hash");
    report.add("transactions", options.transactions).add("updates", options.updates);
    report.add("mix", options.thirds ? "thirds" : "sets").add("seed", options.seed);
}

static int run(const StoreOptions &options) {
    STORE store(options, true);
    uint64_t load_begin_ns = nowNs();
    load(store, options);
    uint64_t load_ns = nowNs() - load_begin_ns;
    std::vector<Update> updates = updatesOf(options);
    uint64_t roi_ns = runTransactions(store, options, updates);
    workloads::Report report;
    report.add("program", PROGRAM);
    addOptions(report, options);
    report.add("roi_ns", roi_ns).add("load_ns", load_ns).add("commits", store.commits());
    report.addHex("checksum", checksumOf(store)).print();
    return 0;
}

static Contents expectedContents(const StoreOptions &options, uint64_t records_loaded, uint64_t commits) {
    if (records_loaded > options.records || (commits > 0 && records_loaded != options.records))
        throw std::runtime_error("the database says it loaded " + std::to_string(records_loaded) + " records");
    Contents contents;
    for (uint64_t i = 0; i < records_loaded; i++)
        contents[keyText(i)] = loadedValue(i, options.seed);
    for (const Update &update : updatesOf(options)) {
        if (commits == 0)
            break;
        if (update.kind == Update::Kind::Set)
            contents[update.key] = update.value;
        else if (update.kind == Update::Kind::Remove)
            contents.erase(update.key);
        commits -= update.commits;
    }
    if (commits > 0)
        throw std::runtime_error("the database has seen more commits than the options make");
    return contents;
}

// Empty: every record is there once, has its value, and is found by its key.
static std::string compare(STORE &store, const StoreOptions &options) {
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

static int verify(const StoreOptions &options) {
    std::string problem;
    uint64_t commits = 0, records_loaded = 0;
    try {
        STORE store(options, false);
        commits = store.commits();
        records_loaded = store.recordsLoaded();
        problem = compare(store, options);
    } catch (const std::exception &error) {
        problem = error.what();
    }
    workloads::Report report;
    report.add("program", PROGRAM "-verify");
    addOptions(report, options);
    report.addBool("verified", problem.empty()).add("commits", commits).add("records_loaded", records_loaded);
    report.add("problem", problem).print();
    return problem.empty() ? 0 : 1;
}

static int runProgram(const StoreOptions &options) {
    if (!options.engine.empty() && options.engine != ENGINE)
        throw std::invalid_argument("this is the program of the engine " ENGINE);
    if (options.file.empty())
        throw std::invalid_argument("--file is missing: give a path on the file system under test");
    return options.verify ? verify(options) : run(options);
}

} // namespace programs

int main(int argc, char **argv) {
    programs::StoreOptions options;
    std::vector<workloads::Flag> flags = workloads::commonFlags(options);
    for (workloads::Flag &flag : options.flags(programs::STORE::HasKinds))
        flags.push_back(flag);
    try {
        workloads::parse(argc, argv, flags);
        if (options.help)
            return fputs(workloads::usage(PROGRAM, flags).c_str(), stdout) < 0;
        return programs::runProgram(options);
    } catch (const std::invalid_argument &error) {
        fprintf(stderr, PROGRAM ": %s\n%s", error.what(), workloads::usage(PROGRAM, flags).c_str());
    } catch (const std::exception &error) {
        fprintf(stderr, PROGRAM ": %s\n", error.what());
    }
    return 2;
}
