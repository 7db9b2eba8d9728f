// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of the tree on the library, under each protocol, with its announcements as the only ones: each
// transaction inserts, updates or removes; recovery must find the file exactly as one of them left it
// (explore/history.hpp).
//
//     explore_mtree DIRECTORY PROTOCOL [BUG]
//
// A bug is one of the library's, or the name of a function of mtree_map.hpp, without its announcements.
// It succeeds if that is caught.
#include <filesystem>
#include <source_location>
#include <string>

#include "epochs.hpp"
#include "history.hpp"
#include "mtree_model.hpp"

using workloads::Random;

static constexpr uint64_t Histories = 3, Transactions = 120, KeysMax = 56;

extern "C" char snapshot_single_threaded;
char snapshot_single_threaded = 1;

// The heap of cpnvm in a file that is being watched; each transaction is a commit.
class WatchedEngine {
  public:
    template <class T> using Ptr = engines::RelativePtr<T>;

    WatchedEngine(TrackedFile &file, History &history)
        : file(file), history(history), heap(file.working(), DataBytes) {}

    template <class Root> Root *root() { return static_cast<Root *>(heap.root(sizeof(Root))); }
    template <class T> Ptr<T> allocate(size_t count) {
        return Ptr<T>(static_cast<T *>(heap.allocate(count * sizeof(T))));
    }
    template <class T>
    void writing(T *field, size_t count = 1, std::source_location place = std::source_location::current()) {
        if (!*seeded_bug || !strstr(place.function_name(), seeded_bug))
            snapshot_log_range(field, count * sizeof(T));
    }
    template <class T> void fresh(T *memory, size_t count = 1) { snapshot_log_range(memory, count * sizeof(T)); }

    template <class Change> void transaction(Change &&change) {
        change();
        size_t next = history.states.size();
        history.states.push_back(workingState(file));
        history.bounds.push_back({history.trace.events.size(), next - 1, next});
        if (file.commit() != 0)
            violation("a commit fails", history.trace.events.size(), 0, history.seed);
        history.bounds.push_back({history.trace.events.size(), next, next});
    }

  private:
    TrackedFile &file;
    History &history;
    engines::AnnouncedHeap heap;
};

using Map = workloads::MtreeMap<WatchedEngine>;

static std::string shortKey(Random &random) {
    uint64_t number = random.below(KeysMax);
    return std::string(number % 8 == 0 ? 8 : 0, 'l') + std::to_string(number);
}

static void changeOften(Map &map, Model &model, Random &random) {
    for (uint64_t i = 0; i < Transactions; i++) {
        std::string key = shortKey(random);
        uint64_t value = random.next();
        bool grows = i < Transactions * 2 / 3;
        if (random.below(8) < (grows ? 7 : 1)) {
            map.insert(key, value);
            model[key] = value;
        } else {
            map.erase(key);
            model.erase(key);
        }
    }
}

static void exploreTree(const std::string &path, unsigned protocol, uint64_t seed) {
    TrackedFile file(path, DataBytes, protocol);
    if (file.error())
        return violation("opening fails", 0, 0, seed);
    History history{file.image(), file.mapping(), {}, {workingState(file)}, {{0, 0, 0}}, seed};
    recorder = &history.trace;
    WatchedEngine engine(file, history);
    Map map(engine);
    engine.transaction([] {}); // the heap and the root, which are made outside of one
    Model model;
    Random random(seed);
    changeOften(map, model, random);
    recorder = nullptr;
    if (std::string problem = difference(map, model); !problem.empty())
        violation(problem.c_str(), 0, 0, seed);
    history.mapping = file.mapping();
    history.start.resizeLog(history.mapping.log_bytes); // it may have grown
    explore(history);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    if (argc > 3)
        seeded_bug = argv[3];
    std::string directory = argv[1];
    for (const Protocol &protocol : Protocols)
        for (uint64_t seed = 1; strcmp(protocol.name, argv[2]) == 0 && seed <= Histories; seed++) {
            std::filesystem::remove_all(directory);
            std::filesystem::create_directories(directory);
            exploreTree(directory + "/tree", protocol.flag, seed);
        }
    std::filesystem::remove_all(directory);
    printf("%lu images, %lu images of crashes in recovery, %lu violations\n", totals.images, totals.recovery_images,
           totals.violations);
    return *seeded_bug || totals.images == 0 || totals.violations > 0 ? 1 : 0;
}
