// SPDX-License-Identifier: BSD-3-Clause
//
// Crash-state exploration. A history of stores, commits (durable and declared), rollbacks and a close runs on a real
// tracked file with the recording persistence layer. For every image that a power cut could leave behind, at every
// point of it, recovery must find exactly one of the committed states: not older than the last commit that returned
// durable, not younger than the last one that was begun.
//
//     explore_crashes DIRECTORY PROTOCOL [BUG]
//
// With the name of a seeded bug it succeeds if the bug is caught.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "runtime_under_test.hpp"

using State = std::vector<uint8_t>;
using Random = std::mt19937_64;

static constexpr size_t DataBytes = 8192;
static constexpr size_t ExhaustiveLines = 6;
static constexpr size_t Samples = 24;

extern "C" const char *snapshot_seeded_bug;
const char *snapshot_seeded_bug = "";

static struct {
    uint64_t images, recovery_images, violations;
} totals;

struct Options {
    unsigned threads; // 1: the program has one thread
    size_t stores_max, commits;
    bool declares;
};

// Which states may be found from this position in the events on.
struct Bounds {
    size_t position, oldest, youngest;
};

struct History {
    Image start;
    Mapping mapping;
    Recorder trace;
    std::vector<State> states;
    std::vector<Bounds> bounds;
    uint64_t seed;

    const Bounds &at(size_t position) const {
        size_t i = bounds.size();
        while (bounds[--i].position > position)
            ;
        return bounds[i];
    }
};

static void violation(const char *what, size_t position, uint64_t ordinal, uint64_t seed) {
    if (totals.violations++ < 3)
        printf("violation: %s, position %zu, image %lu, seed %lu\n", what, position, ordinal, seed);
    if (*snapshot_seeded_bug)
        exit(0); // the bug is caught
}

static const Protocol &anyProtocol(Random &random) { return Protocols[random() % std::size(Protocols)]; }

static bool recoverImage(Image &image, uint64_t seed) {
    struct recovery result{};
    struct log_view log = {image.logBytes(), image.logSize()};
    const struct protocol *next = protocol_by_name(Protocols[seed % std::size(Protocols)].name);
    return recover(log, image.dataBytes(), image.dataSize(), next, &result) == 0;
}

static void check(const History &history, Image &image, size_t position, uint64_t ordinal) {
    if (!recoverImage(image, history.seed))
        return violation("recovery refuses the image", position, ordinal, history.seed);
    const Bounds &bounds = history.at(position);
    for (size_t i = bounds.oldest; i <= bounds.youngest; i++)
        if (memcmp(image.dataBytes(), history.states[i].data(), DataBytes) == 0)
            return;
    violation("the file is in none of the states it may be in", position, ordinal, history.seed);
}

// The same image, with the power cut again while it is being recovered.
static void checkCrashInRecovery(const History &history, const Image &crashed, size_t position) {
    Image image = crashed;
    Recorder second;
    recorder = &second;
    bool recovered = recoverImage(image, history.seed);
    recorder = nullptr;
    if (!recovered)
        return;
    Mapping mapping{image.logBytes(), image.dataBytes(), image.logSize(), image.dataSize()};
    exploreCrashes(crashed, mapping, second.events, 3, 4, history.seed, [&](const Crash &crash, Image &again) {
        totals.recovery_images++;
        check(history, again, position, crash.ordinal);
    });
}

static void explore(const History &history) {
    exploreCrashes(history.start, history.mapping, history.trace.events, ExhaustiveLines, Samples, history.seed,
                   [&](const Crash &crash, Image &image) {
                       if (totals.images++ % 199 == 0)
                           checkCrashInRecovery(history, image, crash.position);
                       check(history, image, crash.position, crash.ordinal);
                   });
}

// Half of the stores go to few lines, so that lines stay hot over several commits.
static void randomStores(uint8_t *working, uint64_t count, uint64_t seed) {
    Random random(seed);
    for (uint64_t i = 0; i < count; i++) {
        size_t lines = random() % 2 ? 2 : DataBytes / 64 - 1;
        trackedStore(working + random() % lines * 64 + random() % 64, random());
    }
}

static State workingState(const TrackedFile &file) { return State(file.working(), file.working() + DataBytes); }

// Threads that work one after another, so that the trace repeats. A program of one thread does the work itself.
class Workers {
  public:
    explicit Workers(unsigned count) : threads(count > 1 ? count : 0) {
        for (Worker &worker : threads)
            worker.thread = std::thread([&worker] {
                for (worker.go.acquire(); worker.work; worker.go.acquire()) {
                    worker.work();
                    worker.done.release();
                }
            });
    }
    ~Workers() {
        for (Worker &worker : threads) {
            worker.work = nullptr;
            worker.go.release();
            worker.thread.join();
        }
    }

    void run(uint64_t number, std::function<void()> work) {
        if (threads.empty())
            return work();
        Worker &worker = threads[number % threads.size()];
        worker.work = std::move(work);
        worker.go.release();
        worker.done.acquire();
    }

  private:
    struct Worker {
        std::thread thread;
        std::function<void()> work;
        std::binary_semaphore go{0}, done{0};
    };
    std::vector<Worker> threads;
};

static void commitStep(History &history, TrackedFile &file, const Options &options, Workers &workers, Random &random) {
    size_t last = history.states.size() - 1;
    bool declare = options.declares && random() % 2;
    history.states.push_back(workingState(file));
    history.bounds.push_back({history.trace.events.size(), history.bounds.back().oldest, last + 1});
    workers.run(random(), [&] { declare ? file.declare() : file.commit(); });
    if (!declare)
        history.bounds.push_back({history.trace.events.size(), last + 1, last + 1});
}

static void runSteps(History &history, TrackedFile &file, const Options &options, Random &random) {
    Workers workers(options.threads);
    for (size_t step = 0; step < options.commits; step++) {
        for (unsigned thread = 0; thread < options.threads; thread++) {
            uint64_t seed = random(), count = random() % options.stores_max;
            workers.run(thread, [&] { randomStores(file.working(), count, seed); });
        }
        if (random() % 8 == 0)
            workers.run(random(), [&] { snapshot_test_publish(file.working()); });
        if (random() % 5 == 0) {
            snapshot_rollback(file.working());
            if (workingState(file) != history.states.back())
                violation("a rollback ends in another state", history.trace.events.size(), 0, history.seed);
        } else {
            commitStep(history, file, options, workers, random);
        }
    }
}

static void exploreHistory(const std::string &path, const Protocol &protocol, const Options &options, uint64_t seed) {
    Random random(seed);
    TrackedFile file(path, DataBytes, protocol.flag);
    if (file.error())
        return violation("opening fails", 0, 0, seed);
    History history{file.image(), file.mapping(), {}, {workingState(file)}, {{0, 0, 0}}, seed};
    recorder = &history.trace;
    runSteps(history, file, options, random);
    if (seed % 2) {
        file.close();
        history.bounds.push_back({history.trace.events.size(), history.states.size() - 1, history.states.size() - 1});
    }
    recorder = nullptr;
    explore(history);
}

static void writeFile(const std::string &path, const uint8_t *bytes, size_t size) {
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char *>(bytes), static_cast<long>(size));
}

static Image readFiles(const std::string &path) {
    auto read = [](const std::string &name) {
        std::vector<char> bytes(std::filesystem::exists(name) ? std::filesystem::file_size(name) : 0);
        std::ifstream(name, std::ios::binary).read(bytes.data(), static_cast<long>(bytes.size()));
        return bytes;
    };
    std::vector<char> log = read(path + ".snapshot-log"), data = read(path);
    return imageOf(reinterpret_cast<uint8_t *>(log.data()), log.size(), reinterpret_cast<uint8_t *>(data.data()),
                   data.size());
}

// A life of crashes: each step opens what the crash before it left, with any protocol, and runs some commits; the power
// is cut at any point of it, the opening included.
static void crashChain(const std::string &path, const Protocol *protocol, const Options &options, size_t steps,
                       uint64_t seed) {
    Random random(seed);
    TrackedFile(path, DataBytes).close();
    std::vector<State> possible = {State(DataBytes)};
    for (size_t step = 0; step < steps; step++) {
        History history{readFiles(path), {}, {}, {}, {{0, 0, 0}}, seed};
        recorder = &history.trace;
        TrackedFile file(path, DataBytes, (protocol ? *protocol : anyProtocol(random)).flag);
        recorder = nullptr;
        if (file.error())
            return violation("opening refuses what a crash left", step, 0, seed);
        history.states = {workingState(file)};
        if (std::find(possible.begin(), possible.end(), history.states[0]) == possible.end())
            return violation("a chain of crashes ends in a wrong state", step, 0, seed);
        recorder = &history.trace;
        runSteps(history, file, options, random);
        recorder = nullptr;
        history.mapping = file.mapping();
        history.start.log.resize(history.mapping.log_bytes / 64);
        size_t chosen = random() % (history.trace.events.size() + 1);
        Image left = history.start;
        exploreCrashes(history.start, history.mapping, history.trace.events, 0, 1, random(),
                       [&](const Crash &crash, Image &image) {
                           if (crash.position == chosen)
                               left = image;
                       });
        totals.images++;
        const Bounds &bounds = history.at(chosen);
        possible.assign(history.states.begin() + static_cast<long>(bounds.oldest),
                        history.states.begin() + static_cast<long>(bounds.youngest) + 1);
        file.close();
        writeFile(path, left.dataBytes(), left.dataSize());
        writeFile(path + ".snapshot-log", left.logBytes(), left.logSize());
    }
}

static void exploreAll(const std::string &directory, const Protocol &protocol, unsigned threads, uint64_t seeds) {
    std::string path = directory + "/data";
    auto fresh = [&] {
        std::filesystem::remove_all(directory);
        std::filesystem::create_directories(directory);
    };
    fresh();
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        bool large = seed % 8 == 0;
        Options options{threads, large ? 40u : 3 + 3 * (seed % 2), large ? 4u : 7u, seed % 3 > 0};
        exploreHistory(path, protocol, options, seed);
    }
    for (uint64_t seed = 100; seed < 103; seed++) {
        fresh();
        crashChain(path, seed == 102 ? nullptr : &protocol, {threads, 12, 5, true}, 100, seed);
    }
    std::filesystem::remove_all(directory);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    if (argc > 3)
        snapshot_seeded_bug = argv[3];
    for (const Protocol &protocol : Protocols)
        for (unsigned threads : {1u, 3u})
            if (strcmp(protocol.name, argv[2]) == 0)
                exploreAll(argv[1], protocol, threads, 40);
    printf("%lu images, %lu images of crashes in recovery, %lu violations\n", totals.images, totals.recovery_images,
           totals.violations);
    return *snapshot_seeded_bug || totals.images == 0 || totals.violations > 0 ? 1 : 0;
}
