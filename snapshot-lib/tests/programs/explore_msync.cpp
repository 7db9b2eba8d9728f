// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of the engine msync-4k under the model of the rig power_cut/folders.hpp: the guarantee of plain msync()
// per transaction. Every state is opened by the same engine and compared with the store before and after the
// transaction.
//
//     explore_msync DIRECTORY
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "kv_store.hpp"
#include "msync.hpp"
#include "report.hpp"
#include "watched_files.hpp"
#include "ycsb.hpp"

using namespace programs;

static constexpr FolderSampling Cuts = {.steps = {}, .content = {.exhaustive = 64, .random = 32}};
static constexpr uint64_t Records = 200, Updates = 12, Inserts = 12;

// The file is looked at before each change, so that the kernel may have written back its content of that time.
class Watched : public engines::Msync4k {
  public:
    using engines::Msync4k::Msync;
    template <class T> void writing(T *, size_t = 1) {
        if (watched_files)
            watched_files->before();
    }
    template <class T> void fresh(T *field, size_t count = 1) { writing(field, count); }
};

using Store = workloads::KvStore<Watched>;

struct Contents {
    uint64_t commits = 0;
    std::map<std::string, uint32_t> records;
    bool operator==(const Contents &) const = default;
};

static Contents contentsOf(const Store &store) {
    Contents contents{store.commits(), {}};
    store.forEach([&](const workloads::Record &record) {
        contents.records[std::string(record.key.bytes, record.key.length())] = record.value;
    });
    return contents;
}

struct Explorer {
    std::string directory;
    Contents before, after;
    bool is_committed = false;
    uint64_t points = 0, states = 0, violations = 0, lost = 0;

    int open(const std::string &path) const {
        watched_files = nullptr; // in this child
        try {
            Watched engine(path, 0, engines::OpenMode::OpenExisting);
            Contents found = contentsOf(Store(engine, 0));
            return (!is_committed && found == before) || found == after ? 0 : 1;
        } catch (const std::exception &) {
            return 1;
        }
    }

    void point() {
        points++;
        watched_files->forEachState(Cuts, [this](const WatchedFiles::State &state) {
            std::string path = directory + "/crashed";
            std::ofstream(path, std::ios::binary) << state[0].bytes;
            states++;
            bool is_wrong = answerOf([&] { return open(path); }) != 0;
            violations += is_wrong;
            lost += is_wrong && is_committed;
        });
    }
};

// A change is explored after the same change on another copy of the store, which gives the expected result.
template <class Change> static void explore(Explorer &explorer, Store &store, Store &ahead, Change &&change) {
    change(ahead);
    explorer.before = explorer.after;
    explorer.after = contentsOf(ahead);
    explorer.is_committed = false;
    change(store);
    explorer.is_committed = true;
    watched_files->look();
    explorer.point();
}

static void run(Explorer &explorer) {
    std::string path = explorer.directory + "/pool";
    auto load = [](Store &store) {
        store.load(Records, [](uint64_t i) { return std::pair(workloads::keyOf(i), static_cast<uint32_t>(i)); });
    };
    Watched engine(path, 256 << 10, engines::OpenMode::Create),
        other(path + ".ahead", 256 << 10, engines::OpenMode::Create);
    Store store(engine, 4), ahead(other, 4);
    load(store);
    load(ahead);
    explorer.after = contentsOf(store);
    WatchedFiles files({path}, NameRule::Posix, [&] { explorer.point(); });
    for (uint64_t i = 0; i < Updates; i++)
        explore(explorer, store, ahead, [i](Store &changed) {
            changed.update(workloads::keyOf(i * 17 % Records), static_cast<uint32_t>(1000 + i));
        });
    for (uint64_t i = 0; i < Inserts; i++)
        explore(explorer, store, ahead, [i](Store &changed) { changed.insert(workloads::keyOf(Records + i), 1); });
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    std::filesystem::remove_all(argv[1]);
    std::filesystem::create_directories(argv[1]);
    Explorer explorer;
    explorer.directory = std::filesystem::canonical(argv[1]);
    run(explorer);
    std::filesystem::remove_all(argv[1]);
    workloads::Report report;
    report.add("program", "explore-msync").add("points", explorer.points).add("states", explorer.states);
    report.add("violations", explorer.violations).add("lost_commits", explorer.lost).print();
    return 0;
}
