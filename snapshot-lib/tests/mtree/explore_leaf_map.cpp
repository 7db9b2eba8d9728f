// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of the leaves that have undo copies in their own lines, under the model of the rig power_cut/media.hpp.
// After each store some of the states are recovered: recovery must find the state at the begin of the epoch. Recovery
// is cut, too, and the map goes on from one of the states.
//
//     explore_leaf_map [BUG]
//
// With a bug it succeeds if that is caught.
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>

const char *seeded_bug = "";

#include "leaf_map.hpp"
#include "media.hpp"
#include "random.hpp"

using workloads::Random;
using Contents = std::map<uint64_t, uint64_t>;

static constexpr size_t Leaves = 10, LogMax = 6, Samples = 6;
static constexpr uint64_t Histories = 30, Lives = 3, Changes = 250, Keys = 40, RecoveryEvery = 53;

static uint64_t images, recovery_images, violations, changes, epochs, logged, flushes, fences;

// Memory with caches in front of it.
class CachedMemory {
  public:
    explicit CachedMemory(const Medium &medium) : now(medium), states(medium, images) {}

    uint64_t *words() { return reinterpret_cast<uint64_t *>(now.data()); }
    void store(uint64_t *word, uint64_t value) {
        *word = value;
        size_t at = offsetOf(word);
        MediaEvent event{.kind = MediaEvent::Store, .line = lineOf(word), .bytes = 0xffull << at % LineBytes};
        memcpy(event.content.data() + at % LineBytes, word, sizeof(*word));
        states.follow(event);
        stores++;
        if (after_store)
            after_store();
    }
    void flush(const void *address) {
        states.follow({.kind = MediaEvent::Flush, .line = lineOf(address)});
        flushes++;
    }
    void fence() {
        states.follow({.kind = MediaEvent::Fence});
        fences++;
    }

    void forEachState(size_t samples, const CrashStates::Visit &visit) { states.forEach({.random = samples}, visit); }
    const Medium &newest() const { return now; }
    Medium anyState() {
        Medium last;
        forEachState(1, [&](Medium &state) { last = std::move(state); });
        return last;
    }

    std::function<void()> after_store;
    uint64_t stores = 0, flushes = 0, fences = 0;

  private:
    size_t offsetOf(const void *address) const {
        return static_cast<size_t>(static_cast<const uint8_t *>(address) - now.data());
    }
    size_t lineOf(const void *address) const { return offsetOf(address) / LineBytes * LineBytes; }

    Medium now;
    CrashStates states;
};

using Map = rivals::LeafMap<CachedMemory>;

static Contents contentsOf(const Map &map) {
    Contents contents;
    map.forEach([&](uint64_t key, uint64_t value) { contents[key] = value; });
    return contents;
}

static void violation(const char *what, uint64_t seed) {
    if (violations++ == 0)
        printf("violation: %s, seed %lu, image %lu\n", what, seed, images);
}

struct Life {
    CachedMemory memory;
    uint64_t seed;
    Random random;
    Contents began, contents; // of the epoch; of now
    bool is_ending = false;   // the epoch: it may be over
    Medium left = {};         // one of the states
    uint64_t seen = 0;

    bool isAllowed(const Contents &found) const { return found == began || (is_ending && found == contents); }

    void check(const Medium &medium) {
        CachedMemory copy(medium);
        bool is_cut = images++ % RecoveryEvery == 0;
        if (is_cut)
            copy.after_store = [&] {
                auto then = std::move(copy.after_store);
                copy.after_store = nullptr;
                CachedMemory again(copy.anyState());
                recovery_images++;
                if (!isAllowed(contentsOf(Map(again, Leaves, LogMax))))
                    violation("a recovery that was cut is recovered to other contents", seed);
                copy.after_store = std::move(then);
            };
        Map map(copy, Leaves, LogMax);
        copy.after_store = nullptr;
        Contents found = contentsOf(map);
        if (!isAllowed(found))
            violation("recovery finds other contents than the epoch began with", seed);
        for (const auto &[key, value] : found)
            if (map.find(key) != value)
                violation("a key is in the wrong leaf", seed);
    }

    void point() {
        if (violations > 0)
            return;
        memory.forEachState(Samples, [this](Medium &medium) {
            if (random.below(++seen) == 0)
                left = medium;
            check(medium);
        });
    }

    void change(Map &map) {
        uint64_t key = random.below(Keys), value = random.next() & Map::ValueMax;
        if (random.below(4) > 0) {
            map.put(key, value);
            contents[key] = value;
        } else {
            map.erase(key);
            contents.erase(key);
        }
        changes++;
    }

    void run() {
        memory.after_store = [this] { point(); };
        Map map(memory, Leaves, LogMax);
        for (uint64_t i = 0, in_epoch = 0; i < Changes; i++) {
            change(map);
            if (++in_epoch < 5 && random.below(5) > 0)
                continue;
            is_ending = true;
            map.endEpoch();
            is_ending = false;
            began = contents;
            in_epoch = 0;
            epochs++;
        }
        memory.after_store = nullptr;
        if (contentsOf(map) != contents)
            violation("the map has other contents than it was given", seed);
        logged += map.leavesLogged();
        flushes += memory.flushes;
        fences += memory.fences;
    }
};

static void explore(uint64_t seed) {
    Medium medium(Map::linesOf(Leaves, LogMax) * LineBytes);
    Contents contents;
    for (uint64_t life = 0; life < Lives && violations == 0; life++) {
        Life one{CachedMemory(medium), seed, Random(seed * Lives + life), contents, contents};
        one.run();
        medium = one.left;
        CachedMemory copy(medium);
        contents = contentsOf(Map(copy, Leaves, LogMax));
        // As if many epochs had gone by, in which nothing was done: soon their tags are those of the first life.
        if (life == 0 && seed % 2) {
            medium = copy.newest();
            reinterpret_cast<uint64_t *>(medium.data())[1] = 0xfffd;
        }
    }
}

int main(int argc, char **argv) {
    seeded_bug = argc > 1 ? argv[1] : "";
    for (uint64_t seed = 1; seed <= Histories && violations == 0; seed++)
        explore(seed);
    double each = static_cast<double>(changes);
    printf("%lu images, %lu images of crashes in recovery, %lu violations; %.2f lines flushed and %.2f leaves logged a "
           "change, %.2f fences an epoch\n",
           images, recovery_images, violations, static_cast<double>(flushes) / each, static_cast<double>(logged) / each,
           static_cast<double>(fences) / static_cast<double>(epochs));
    return (violations > 0) != (*seeded_bug != 0) || images == 0 ? 1 : 0;
}
