// SPDX-License-Identifier: BSD-3-Clause
//
// Crash-state exploration. A history of stores, commits (durable and declared), rollbacks and a close runs on a real
// tracked file with the recording persistence layer; its log grows, and sometimes cannot; its second thread starts in
// the middle; or its log is damaged before it is closed. For every image that a power cut could leave behind, at every
// point of it, recovery must find exactly one of the committed states: not older than the last commit that returned
// durable, not younger than the last one that was begun.
//
//     explore_crashes DIRECTORY PROTOCOL [BUG]
//
// With the name of a seeded bug it succeeds if the bug is caught. With a tracker of pages in SNAPSHOT_TRACK stores are
// not announced; a commit then has whole pages, so that fewer and shorter histories have as many images.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "history.hpp"

using Random = std::mt19937_64;

static const uint64_t Histories = tracksPages() ? 8 : 40, Damages = tracksPages() ? 60 : 300;
static const uint64_t ChainSteps = tracksPages() ? 20 : 100;

// As libc knows it: true until a history starts its threads.
extern "C" char snapshot_single_threaded;
char snapshot_single_threaded = 1;

// A full device, and a log just too small for a request.
static bool device_is_full;
extern "C" int __real_log_file_grow(struct region *region, uint64_t chunk_count);
extern "C" int __wrap_log_file_grow(struct region *region, uint64_t chunk_count) {
    return device_is_full ? -ENOSPC : __real_log_file_grow(region, chunk_count);
}

struct Options {
    unsigned threads; // 1: the program has one thread
    size_t stores_max, commits;
    bool declares;
    size_t alone = 0; // so many commits are made before the threads start
};

static const Protocol &anyProtocol(Random &random) { return Protocols[random() % std::size(Protocols)]; }

// A chain changes the tracker where it must with the protocol.
static unsigned chainFlags(const Protocol &protocol) {
    stores_are_announced = !tracksPages() || !commitsWhatIsTracked(protocol);
    return protocol.flag | (stores_are_announced ? SNAPSHOT_TRACK_PASS : 0);
}

extern "C" void thread_leaves(void);

// Half of the stores go to few lines, so that lines stay hot over several commits. Then the thread may come to a lock:
// the next commit empties its log, and else holds it.
static void randomStores(uint8_t *working, uint64_t count, uint64_t seed) {
    Random random(seed);
    for (uint64_t i = 0; i < count; i++) {
        size_t lines = random() % 2 ? 2 : DataBytes / 64 - 1;
        trackedStore(working + random() % lines * 64 + random() % 64, random());
    }
    threadRests(working);
    if (random() % 2)
        thread_leaves();
}

// Threads that work one after another, so that the trace repeats. A program of one thread does the work itself.
class Workers {
  public:
    explicit Workers(unsigned count) : threads(count > 1 ? count : 0) {
        snapshot_single_threaded = threads.empty();
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
        snapshot_single_threaded = 1;
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

// Perhaps the log cannot grow, and the commit fails. Another thread may be the next to try.
static bool failsOnFullDevice(TrackedFile &file, Workers &workers, Random &random) {
    if (random() % 4)
        return false;
    int status = 0;
    device_is_full = true;
    workers.run(random(), [&] { status = file.commit(); });
    device_is_full = false;
    totals.full += status == -ENOSPC;
    return status == 0;
}

static void commitStep(History &history, TrackedFile &file, const Options &options, Workers &workers, Random &random) {
    size_t last = history.states.size() - 1;
    bool declare = options.declares && random() % 2;
    history.states.push_back(workingState(file));
    history.bounds.push_back({history.trace.events.size(), history.bounds.back().oldest, last + 1});
    bool done = failsOnFullDevice(file, workers, random);
    if (!done)
        workers.run(random(), [&] { declare ? file.declare() : file.commit(); });
    if (done || !declare)
        history.bounds.push_back({history.trace.events.size(), last + 1, last + 1});
}

static void runSteps(History &history, TrackedFile &file, const Options &options, Random &random) {
    std::optional<Workers> all(std::in_place, options.alone ? 1 : options.threads);
    for (size_t step = 0; step < options.commits; step++) {
        if (options.alone && step == options.alone)
            all.emplace(options.threads);
        Workers &workers = *all;
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

// A thread that starts after everything else has been done closes the file.
static void closeOnAnother(TrackedFile &file) {
    Workers workers(2);
    workers.run(0, [&] { file.close(); });
}

static void exploreHistory(const std::string &path, const Protocol &protocol, const Options &options, uint64_t seed) {
    Random random(seed);
    TrackedFile file(path, DataBytes, protocol.flag);
    if (file.error())
        return violation("opening fails", 0, 0, seed);
    History history{file.image(), file.mapping(), {}, {workingState(file)}, {{0, 0, 0}}, seed};
    recorder = &history.trace;
    runSteps(history, file, options, random);
    history.mapping = file.mapping();
    history.start.resizeLog(history.mapping.log_bytes); // it may have grown
    if (seed % 2) {
        options.threads > 1 ? closeOnAnother(file) : file.close();
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

// A life of crashes: each step opens the state that the crash before it left, with any protocol, and runs some commits;
// the power is cut at any point of it, the opening included.
static void crashChain(const std::string &path, const Protocol *protocol, const Options &options, size_t steps,
                       uint64_t seed) {
    Random random(seed);
    TrackedFile(path, DataBytes).close();
    std::vector<State> possible = {State(DataBytes)};
    for (size_t step = 0; step < steps; step++) {
        History history{readFiles(path), {}, {}, {}, {{0, 0, 0}}, seed};
        recorder = &history.trace;
        TrackedFile file(path, DataBytes, chainFlags(protocol ? *protocol : anyProtocol(random)));
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
        history.start.resizeLog(history.mapping.log_bytes);
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

// One bit of a line of the log that has anything in it.
static void damageLog(const TrackedFile &file, Random &random) {
    Mapping mapping = file.mapping();
    auto *log = const_cast<uint8_t *>(mapping.log);
    std::vector<size_t> places;
    for (size_t at = LOG_CHUNKS_OFFSET; at < mapping.log_bytes; at += 64)
        if (std::any_of(log + at, log + at + 64, [](uint8_t byte) { return byte != 0; }))
            places.push_back(at);
    if (!places.empty())
        log[places[random() % places.size()] + random() % 64] ^= static_cast<uint8_t>(1 << random() % 8);
}

// The log of an open file is damaged. Each call then succeeds, or fails and changes nothing.
static void checkDamage(const std::string &path, const Protocol &protocol, uint64_t seed) {
    Random random(seed);
    TrackedFile file(path, DataBytes, protocol.flag);
    std::vector<State> states;
    for (size_t commits = 1 + random() % 4; commits > 0; commits--) {
        randomStores(file.working(), 1 + random() % 40, random());
        file.commit();
        states.push_back(workingState(file));
    }
    randomStores(file.working(), random() % 2 ? random() % 60 : 0, random());
    State stored = workingState(file);
    damageLog(file, random);
    totals.damaged++;
    if (random() % 2 && file.commit() == 0)
        states.push_back(stored);
    else if (random() % 2) {
        int status = snapshot_rollback(file.working());
        if (workingState(file) != (status < 0 ? stored : states.back()))
            violation("a rollback with a damaged log ends in another state", 0, 0, seed);
    }
    if (snapshot_unmap(file.release()) == 0) {
        Image left = readFiles(path);
        if (memcmp(left.dataBytes(), states.back().data(), DataBytes) != 0)
            violation("a file that was closed with a damaged log lacks a commit", 0, 0, seed);
    }
}

// After a crash the files are copied as by `cp --sparse=always` and adopted: the log may have the only copy of commits.
static void checkAdoption(const std::string &path, const Protocol &protocol, uint64_t seed) {
    Random random(seed);
    TrackedFile file(path, DataBytes, protocol.flag);
    for (uint64_t commits = 1 + seed % 3; commits > 0; commits--) {
        randomStores(file.working(), 1 + random() % 20, random());
        file.commit();
    }
    State committed = workingState(file);
    Image left = file.image();
    file.close();
    std::string copy = path + "-copy";
    writeFile(copy, left.dataBytes(), 0);
    if (std::any_of(left.dataBytes(), left.dataBytes() + DataBytes, [](uint8_t byte) { return byte != 0; }))
        writeFile(copy, left.dataBytes(), DataBytes);
    std::filesystem::resize_file(copy, DataBytes);
    writeFile(copy + ".snapshot-log", left.logBytes(), left.logSize());
    TrackedFile adopted(copy, 0, SNAPSHOT_ADOPT);
    if (adopted.error() || workingState(adopted) != committed)
        violation("an adopted copy lacks what was committed", 0, 0, seed);
    adopted.close();
    std::filesystem::remove(copy);
}

static void exploreAll(const std::string &directory, const Protocol &protocol, unsigned threads, uint64_t seeds) {
    std::string path = directory + "/data";
    auto fresh = [&] {
        std::filesystem::remove_all(directory);
        std::filesystem::create_directories(directory);
    };
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        if (seed % 4 == 1)
            fresh(); // a log that has grown stays so
        bool large = seed % 8 == 0;
        Options options{threads, large ? 40u : 3 + 3 * (seed % 2), large ? 4u : 7u, seed % 3 > 0};
        options.alone = threads > 1 && seed % 2 ? 1 + seed % 4 : 0;
        if (seed % 8 == 7) // the program starts its threads after the last commit
            options.alone = options.commits;
        exploreHistory(path, protocol, options, seed);
    }
    for (uint64_t seed = 1; seed <= Damages; seed++) {
        fresh();
        checkDamage(path, protocol, seed);
        fresh();
        checkAdoption(path, protocol, seed);
    }
    for (uint64_t seed = 100; seed < 103; seed++) {
        fresh();
        crashChain(path, seed == 102 ? nullptr : &protocol, {threads, 12, 5, true}, ChainSteps, seed);
    }
    stores_are_announced = !tracksPages();
    std::filesystem::remove_all(directory);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    if (argc > 3)
        seeded_bug = argv[3];
    for (const Protocol &protocol : Protocols)
        for (unsigned threads : {1u, 3u})
            if (strcmp(protocol.name, argv[2]) == 0)
                exploreAll(argv[1], protocol, threads, Histories);
    printf("%lu images, %lu images of crashes in recovery, %lu commits on a full device, %lu damaged logs, "
           "%lu violations\n",
           totals.images, totals.recovery_images, totals.full, totals.damaged, totals.violations);
    bool has_looked = totals.images > 0 && totals.full > 0 && totals.damaged > 0;
    return *seeded_bug || !has_looked || totals.violations > 0 ? 1 : 0;
}
