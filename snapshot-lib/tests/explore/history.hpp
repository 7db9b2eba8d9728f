// SPDX-License-Identifier: BSD-3-Clause
//
// The writes to a tracked file during commits, and the check of every image that a power cut could leave of it:
// recovery finds exactly one of the committed states, not older than the last commit that returned durable, not younger
// than the last one that was begun. The power may be cut again during recovery.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime_under_test.hpp"

using State = std::vector<uint8_t>;

static constexpr size_t DataBytes = 8192;
static constexpr size_t ExhaustiveLines = 6;
static const size_t Samples = tracksPages() ? 4 : 24;
static const uint64_t RecoveryEvery = tracksPages() ? 2999 : 199;

const char *seeded_bug = "";

static struct {
    uint64_t images, recovery_images, violations, full, damaged;
} totals;

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
    if (*seeded_bug)
        exit(0); // the bug is caught
}

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
                       if (totals.images++ % RecoveryEvery == 0)
                           checkCrashInRecovery(history, image, crash.position);
                       check(history, image, crash.position, crash.ordinal);
                   });
}

static State workingState(const TrackedFile &file) { return State(file.working(), file.working() + DataBytes); }
