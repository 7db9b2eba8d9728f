// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of the map of payloads: random changes, epochs that end at random, buffers that overflow. After any
// power cut, also during recoveries, recovery finds the state at the end of one epoch: the last but one at the latest.
// Then the map goes on from one of the states, and the power is cut again.
//
//     explore_payload_map [BUG]
//
// It prints the cost of a change. With a bug it succeeds if that is caught.
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "image.hpp"
#include "payload_map.hpp"
#include "random.hpp"

using rivals::PayloadMap;
using workloads::Random;
using Contents = std::map<std::string, uint64_t>;

const char *seeded_bug = "";

static constexpr size_t Lines = 72, Buffered = 5, ExhaustiveLines = 5, Samples = 24;
static constexpr uint64_t Histories = 40, Lives = 3, Changes = 120, Keys = 9, RecoveryEvery = 97;

static uint64_t images, recovery_images, violations, epochs, changes, lines, fences;

static Contents contentsOf(const PayloadMap &map) {
    Contents contents;
    map.forEach([&](const std::string &key, uint64_t value) { contents[key] = value; });
    return contents;
}

// From this event on, the first end must not be lost any more, and the last may be there.
struct Bounds {
    size_t position, oldest, youngest;
};

struct History {
    Image start;
    Mapping mapping;
    Recorder trace;
    std::vector<Contents> ends; // of epochs; the first is the state when this life began
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
    if (violations++ == 0)
        printf("violation: %s, position %zu, image %lu, seed %lu\n", what, position, ordinal, seed);
}

static Contents recovered(Image &image) {
    PayloadMap map(image.dataBytes(), Lines, Buffered);
    Contents found = contentsOf(map);
    // It accepts a new record, and returns it.
    map.put("after", 1);
    map.sync();
    return found;
}

static void check(const History &history, Image &image, const Crash &crash) {
    const Bounds &bounds = history.at(crash.position);
    Contents found = recovered(image);
    for (size_t i = bounds.oldest; i <= bounds.youngest; i++)
        if (found == history.ends[i])
            return;
    violation("recovery finds no epoch's end that it may", crash.position, crash.ordinal, history.seed);
}

static void checkCrashInRecovery(const History &history, const Image &crashed, const Crash &at) {
    Image image = crashed;
    Recorder second;
    recorder = &second;
    {
        PayloadMap map(image.dataBytes(), Lines, Buffered);
    }
    recorder = nullptr;
    Mapping mapping{nullptr, image.dataBytes(), 0, image.dataSize()};
    exploreCrashes(crashed, mapping, second.events, 4, 8, history.seed, [&](const Crash &, Image &again) {
        recovery_images++;
        check(history, again, at);
    });
}

// One life of the map, from the state after the last crash.
static Image live(Image medium, Contents contents, uint64_t seed, Random &random) {
    const uint8_t *bytes = medium.dataBytes();
    History history{medium, {nullptr, bytes, 0, medium.dataSize()}, {}, {contents}, {{0, 0, 0}}, seed};
    recorder = &history.trace;
    PayloadMap map(medium.dataBytes(), Lines, Buffered);
    if (contentsOf(map) != contents)
        violation("a life begins with other contents", 0, 0, seed);
    // The epochs that recovery may find: none of this life at first; the end of epoch i is ends[i + 1].
    for (uint64_t i = 0, ended = 0; i < Changes; i++) {
        std::string key = "key " + std::to_string(random.below(Keys));
        uint64_t value = random.next();
        if (random.below(3) > 0) {
            map.put(key, value);
            contents[key] = value;
        } else {
            map.erase(key);
            contents.erase(key);
        }
        changes++;
        if (random.below(6) > 0)
            continue;
        history.ends.push_back(contents);
        size_t oldest = ended > 0 ? ended - 1 : 0;
        history.bounds.push_back({history.trace.events.size(), oldest, ended});
        map.endEpoch();
        history.bounds.push_back({history.trace.events.size(), ended, ended});
        ended++;
        epochs++;
    }
    recorder = nullptr;
    lines += history.trace.lines();
    fences += history.trace.fences();
    if (contentsOf(map) != contents)
        violation("the map has other contents than it was given", 0, 0, seed);
    Image left = history.start;
    uint64_t seen = 0;
    exploreCrashes(history.start, history.mapping, history.trace.events, ExhaustiveLines, Samples, seed,
                   [&](const Crash &crash, Image &image) {
                       if (random.below(++seen) == 0)
                           left = image;
                       if (images++ % RecoveryEvery == 0)
                           checkCrashInRecovery(history, image, crash);
                       check(history, image, crash);
                   });
    return left;
}

int main(int argc, char **argv) {
    if (argc > 1)
        seeded_bug = argv[1];
    for (uint64_t seed = 1; seed <= Histories && (violations == 0 || !*seeded_bug); seed++) {
        Random random(seed);
        Image medium(0, Lines * LineBytes);
        Contents contents;
        for (uint64_t life = 0; life < Lives; life++) {
            medium = live(medium, contents, seed, random);
            Image copy = medium;
            contents = contentsOf(PayloadMap(copy.dataBytes(), Lines, Buffered));
        }
    }
    printf("%lu images, %lu images of crashes in recovery, %lu violations; %.2f lines a change, %.2f fences an epoch\n",
           images, recovery_images, violations, static_cast<double>(lines) / static_cast<double>(changes),
           static_cast<double>(fences) / static_cast<double>(epochs));
    return (violations > 0) != (*seeded_bug != 0) || images == 0 ? 1 : 0;
}
