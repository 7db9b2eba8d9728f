// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of checkpoints that threads make together, each writing its own log, while another thread may be
// replaying the epochs before.
//
//     explore_epochs DIRECTORY [BUG]
//
// In `rounds` all threads store, then one makes a checkpoint while the others are at points, and all go on: recovery
// must find the state of a checkpoint, as in explore_crashes. In `pairs` threads keep two words equal, one after the
// other, come to points in between, leave and enter again, and checkpoints are due by a clock: whatever is recovered,
// no pair is torn. With the name of a seeded bug it succeeds if the bug is caught.
#include <array>
#include <atomic>
#include <barrier>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "history.hpp"

using Random = std::mt19937_64;

static constexpr unsigned Threads = 3, Rounds = 7;
static constexpr uint64_t Histories = 16;

extern "C" char snapshot_single_threaded;
char snapshot_single_threaded = 0;

// Each look at it takes a nanosecond.
static std::atomic<uint64_t> clock_ns;
static uint64_t clockNs() { return ++clock_ns; }

static void start(const TrackedFile &file, uint64_t period_ns, bool background) {
    struct snapshot_epochs options{};
    options.period_ns = period_ns;
    options.timeout_ns = 1000000;
    options.flags = background ? SNAPSHOT_REPLAY_BACKGROUND : 0;
    options.now_ns = clockNs;
    if (snapshot_epochs_start(file.working(), &options) < 0)
        violation("epochs cannot be started", 0, 0, 0);
}

// A thread has one word of each line, so that the result of all stores does not depend on their order.
static void storeOwn(uint8_t *working, unsigned thread, uint64_t seed) {
    Random random(seed);
    for (uint64_t count = random() % 8; count > 0; count--) {
        size_t lines = random() % 2 ? 2 : DataBytes / 64;
        trackedStore(working + random() % lines * 64 + 8 * thread, random());
    }
}

struct Rehearsal {
    History &history;
    TrackedFile &file;
    std::barrier<> stored{Threads};
    std::atomic<uint64_t> rounds_done{0};

    void checkpoint() {
        size_t next = history.states.size();
        history.states.push_back(workingState(file));
        history.bounds.push_back({history.trace.position(), next - 1, next});
        if (file.commit() != 0)
            violation("a checkpoint fails", history.trace.position(), 0, history.seed);
        history.bounds.push_back({history.trace.position(), next, next});
    }

    void run(unsigned thread) {
        snapshot_epoch_enter(file.working());
        for (uint64_t round = 0; round < Rounds; round++) {
            storeOwn(file.working(), thread, history.seed * 100 + Threads * round + thread);
            stored.arrive_and_wait();
            if (thread == (history.seed + round) % Threads) {
                checkpoint();
                rounds_done = round + 1;
            }
            while (rounds_done <= round) {
                snapshot_epoch_point(file.working());
                std::this_thread::yield();
            }
        }
        snapshot_epoch_leave(file.working());
    }
};

static void exploreRounds(const std::string &path, uint64_t seed) {
    TrackedFile file(path, DataBytes, SNAPSHOT_PROTOCOL_EPOCH);
    if (file.error())
        return violation("opening fails", 0, 0, seed);
    History history{file.image(), file.mapping(), {}, {workingState(file)}, {{0, 0, 0}}, seed};
    recorder = &history.trace;
    start(file, SNAPSHOT_EPOCHS_BY_CALL, seed % 2);
    Rehearsal rehearsal{history, file};
    std::array<std::thread, Threads> threads;
    for (unsigned i = 0; i < Threads; i++)
        threads[i] = std::thread([&rehearsal, i] { rehearsal.run(i); });
    for (std::thread &thread : threads)
        thread.join();
    snapshot_epochs_stop(file.working());
    recorder = nullptr;
    history.mapping = file.mapping();
    history.start.resizeLog(history.mapping.log_bytes); // it may have grown
    explore(history);
}

static uint64_t wordAt(const uint8_t *place) {
    uint64_t word;
    memcpy(&word, place, sizeof(word));
    return word;
}

// The pairs of a thread: words of two lines that it shares with the other threads.
static constexpr size_t PairLines = 8;
static size_t firstOf(unsigned thread, size_t pair) { return 128 * pair + 8 * thread; }

static void changePairs(uint8_t *working, unsigned thread, uint64_t seed) {
    Random random(seed);
    for (unsigned i = 0; i < 40; i++) {
        snapshot_epoch_enter(working);
        size_t pair = random() % PairLines;
        uint64_t value = random();
        trackedStore(working + firstOf(thread, pair), value);
        std::this_thread::yield();
        trackedStore(working + firstOf(thread, pair) + 64, value);
        if (snapshot_epoch_point(working) < 0)
            violation("a checkpoint fails", 0, 0, seed);
        if (random() % 4 == 0)
            snapshot_epoch_leave(working);
    }
    snapshot_epoch_leave(working);
}

static void checkPairs(Image &image, const Crash &crash, uint64_t seed) {
    totals.images++;
    if (!recoverImage(image, seed))
        return violation("recovery refuses the image", crash.position, crash.ordinal, seed);
    for (unsigned thread = 0; thread < Threads; thread++)
        for (size_t pair = 0; pair < PairLines; pair++) {
            const uint8_t *first = image.dataBytes() + firstOf(thread, pair);
            if (wordAt(first) != wordAt(first + 64))
                return violation("a pair is torn", crash.position, crash.ordinal, seed);
        }
}

static void explorePairs(const std::string &path, uint64_t seed) {
    TrackedFile file(path, DataBytes, SNAPSHOT_PROTOCOL_EPOCH);
    if (file.error())
        return violation("opening fails", 0, 0, seed);
    Image start_image = file.image();
    Recorder trace;
    recorder = &trace;
    start(file, 100, seed % 2);
    std::array<std::thread, Threads> threads;
    for (unsigned i = 0; i < Threads; i++)
        threads[i] = std::thread(changePairs, file.working(), i, seed * Threads + i);
    for (std::thread &thread : threads)
        thread.join();
    struct snapshot_epochs_stats stats{};
    snapshot_epochs_get_stats(file.working(), &stats);
    if (stats.checkpoints == 0)
        violation("the clock makes no checkpoint", 0, 0, seed);
    snapshot_epochs_stop(file.working());
    recorder = nullptr;
    Mapping mapping = file.mapping();
    start_image.resizeLog(mapping.log_bytes);
    exploreCrashes(start_image, mapping, trace.events, 3, 4, seed,
                   [&](const Crash &crash, Image &image) { checkPairs(image, crash, seed); });
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    if (argc > 2)
        seeded_bug = argv[2];
    std::string directory = argv[1];
    // A bug that tears pairs shows only if threads interleave. They may not on a busy host, so it gets more tries.
    uint64_t histories = *seeded_bug ? 50 * Histories : Histories;
    for (uint64_t seed = 1; seed <= histories; seed++) {
        std::filesystem::remove_all(directory);
        std::filesystem::create_directories(directory);
        exploreRounds(directory + "/rounds", seed);
        explorePairs(directory + "/pairs", seed);
    }
    std::filesystem::remove_all(directory);
    printf("%lu images, %lu images of crashes in recovery, %lu violations\n", totals.images, totals.recovery_images,
           totals.violations);
    return *seeded_bug || totals.images == 0 || totals.violations > 0 ? 1 : 0;
}
