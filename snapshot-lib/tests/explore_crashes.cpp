// SPDX-License-Identifier: BSD-3-Clause
//
// Crash-state exploration. Transactions run on a real tracked file with the recording persistence layer; for every
// image a power cut could leave behind, at every point of logging, commit and recovery, recovery must find exactly the
// state before or after the transaction, and after it once the commit has returned.
//
//     explore_crashes DIRECTORY [--expect-violations]
//
// The second form is for libraries with a seeded bug: it succeeds if the bug is caught.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "image.hpp"
#include "runtime_under_test.hpp"

using State = std::vector<uint8_t>;

static constexpr size_t DataBytes = 16384;
static constexpr size_t ExhaustiveLines = 6;
static constexpr size_t Samples = 48;

struct Totals {
    uint64_t images = 0, recovery_images = 0, violations = 0;
};

static Totals totals;
static bool expect_violations;

static State stateOf(Image &image) { return State(image.dataBytes(), image.dataBytes() + image.dataSize()); }

static bool recoverImage(Image &image) {
    struct recovery result{};
    return recover({image.logBytes(), image.logSize()}, image.dataBytes(), image.dataSize(), &result) == 0;
}

static void violation(const char *what, const Crash &crash, uint64_t seed) {
    if (totals.violations++ < 3)
        printf("violation: %s, position %zu, image %lu, seed %lu\n", what, crash.position, crash.ordinal, seed);
    if (expect_violations)
        exit(0); // the seeded bug is caught
}

static void check(Image &image, const Crash &crash, const State &before, const State &after, uint64_t seed) {
    if (!recoverImage(image))
        return violation("recovery refuses the image", crash, seed);
    State found = stateOf(image);
    if (crash.is_last ? found != after : found != before && found != after)
        violation(crash.is_last ? "a returned commit is lost" : "neither the old nor the new state", crash, seed);
}

// The same image, with the power cut again while it is being recovered.
static void checkCrashInRecovery(const Image &crashed, const Crash &crash, const State &before, const State &after,
                                 uint64_t seed) {
    Image image = crashed;
    Recorder second;
    recorder = &second;
    bool recovered = recoverImage(image);
    recorder = nullptr;
    if (!recovered)
        return;
    Mapping mapping{image.logBytes(), image.dataBytes(), image.logSize(), image.dataSize()};
    exploreCrashes(crashed, mapping, second.events, 3, 6, seed, [&](const Crash &, Image &again) {
        totals.recovery_images++;
        check(again, {crash.position, crash.is_last, crash.ordinal}, before, after, seed);
    });
}

// One transaction: random stores by `threads` threads, one after another, so that the trace repeats.
static void randomStores(uint8_t *working, unsigned threads, unsigned stores, std::mt19937_64 &random) {
    for (unsigned i = 0; i < threads; i++) {
        uint64_t seed = random();
        std::thread([=] {
            std::mt19937_64 mine(seed);
            for (unsigned j = 0; j < stores; j++)
                trackedStore(working + mine() % (DataBytes - 8), mine());
        }).join();
    }
}

static void exploreTransaction(const std::string &path, unsigned threads, unsigned stores, uint64_t seed) {
    std::mt19937_64 random(seed);
    TrackedFile file(path, DataBytes);
    Image start = file.image();
    Mapping mapping = file.mapping();
    State before(file.working(), file.working() + DataBytes);
    Recorder trace;
    recorder = &trace;
    randomStores(file.working(), threads, stores, random);
    file.commit();
    recorder = nullptr;
    State after(file.working(), file.working() + DataBytes);
    exploreCrashes(start, mapping, trace.events, ExhaustiveLines, Samples, seed, [&](const Crash &crash, Image &image) {
        totals.images++;
        if (crash.ordinal % 5 == 0)
            checkCrashInRecovery(image, crash, before, after, seed);
        check(image, crash, before, after, seed);
    });
}

static void writeFile(const std::string &path, const uint8_t *bytes, size_t size) {
    int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, bytes, size) != static_cast<ssize_t>(size))
        perror(path.c_str());
    close(fd);
}

// A life of crashes: each step runs a transaction on what the crash before it left, opening included.
static void crashChain(const std::string &path, unsigned steps, uint64_t seed) {
    std::mt19937_64 random(seed);
    State before(DataBytes), after = before;
    bool must_be_after = true;
    for (unsigned step = 0; step < steps; step++) {
        TrackedFile file(path, DataBytes);
        if (file.error())
            return violation("opening refuses what a crash left", {step, must_be_after, 0}, seed);
        State found(file.working(), file.working() + DataBytes);
        if (must_be_after ? found != after : found != before && found != after)
            return violation("a chain of crashes ends in a wrong state", {step, must_be_after, 0}, seed);
        Image start = file.image();
        Mapping mapping = file.mapping();
        Recorder trace;
        recorder = &trace;
        randomStores(file.working(), 1 + random() % 2, 1 + random() % 30, random);
        file.commit();
        recorder = nullptr;
        before = found;
        after.assign(file.working(), file.working() + DataBytes);
        size_t chosen = random() % (trace.events.size() + 1);
        Image left = start;
        exploreCrashes(start, mapping, trace.events, 0, 1, random(), [&](const Crash &crash, Image &image) {
            if (crash.position == chosen) {
                left = image;
                must_be_after = crash.is_last;
            }
        });
        totals.images++;
        file.close();
        writeFile(path, left.dataBytes(), left.dataSize());
        writeFile(path + ".snapshot-log", left.logBytes(), left.logSize());
    }
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    expect_violations = argc > 2 && strcmp(argv[2], "--expect-violations") == 0;
    std::filesystem::remove_all(argv[1]);
    std::filesystem::create_directories(argv[1]);
    std::string path = std::string(argv[1]) + "/data";
    for (uint64_t seed = 100; seed < 104; seed++) {
        std::filesystem::remove_all(argv[1]);
        std::filesystem::create_directories(argv[1]);
        crashChain(path, 150, seed);
    }
    std::filesystem::remove(path);
    std::filesystem::remove(path + ".snapshot-log");
    for (uint64_t seed = 1; seed <= 24; seed++)
        exploreTransaction(path, 1 + seed % 3, seed % 4 == 0 ? 30 : static_cast<unsigned>(1 + seed % 3), seed);
    std::filesystem::remove_all(argv[1]);
    printf("%lu images, %lu images of crashes in recovery, %lu violations\n", totals.images, totals.recovery_images,
           totals.violations);
    return expect_violations || totals.violations > 0 ? 1 : 0;
}
