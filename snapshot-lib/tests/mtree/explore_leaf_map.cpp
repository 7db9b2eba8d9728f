// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of the leaves that have undo copies in their own lines. The model: a line in memory has some of the
// stores since it was last durable, the first of them in their order, whatever other lines have; a line that was
// flushed has at least those of then once there was a fence. After each store some of these states are recovered:
// recovery must find the state at the begin of the epoch. Recovery is cut, too, and the map goes on from one of the
// states.
//
//     explore_leaf_map [BUG]
//
// With a bug it succeeds if that is caught.
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <vector>

const char *seeded_bug = "";

#include "leaf_map.hpp"
#include "random.hpp"

using workloads::Random;
using Contents = std::map<uint64_t, uint64_t>;

static constexpr size_t Leaves = 10, LogMax = 6, Samples = 3;
static constexpr uint64_t Histories = 30, Lives = 3, Changes = 250, Keys = 40, RecoveryEvery = 53;

struct alignas(64) Line {
    uint64_t words[8];
};
using Image = std::vector<Line>;

// Memory with caches in front of it.
class CachedMemory {
  public:
    explicit CachedMemory(const Image &image) : now(image), durable(image) {}

    uint64_t *words() { return now[0].words; }
    void store(uint64_t *word, uint64_t value) {
        *word = value;
        size_t offset = static_cast<size_t>(word - words());
        pending[offset / 8].stores.push_back({offset % 8, value});
        stores++;
        if (after_store)
            after_store();
    }
    void flush(const void *address) {
        auto line = pending.find(static_cast<size_t>(static_cast<const uint64_t *>(address) - words()) / 8);
        if (line != pending.end())
            line->second.flushed = line->second.stores.size();
        flushes++;
    }
    void fence() {
        fences++;
        for (auto line = pending.begin(); line != pending.end();) {
            auto &[number, held] = *line;
            apply(durable[number], held, held.flushed);
            held.stores.erase(held.stores.begin(), held.stores.begin() + static_cast<ptrdiff_t>(held.flushed));
            held.flushed = 0;
            line = held.stores.empty() ? pending.erase(line) : std::next(line);
        }
    }

    // The first state has nothing that is not durable, the second all of it.
    Image state(uint64_t ordinal, Random &random) const {
        Image image = durable;
        for (const auto &[number, held] : pending) {
            size_t all = held.stores.size();
            apply(image[number], held, ordinal == 0 ? 0 : ordinal == 1 ? all : random.below(all + 1));
        }
        return image;
    }

    std::function<void()> after_store;
    uint64_t stores = 0, flushes = 0, fences = 0;

  private:
    struct Store {
        size_t word;
        uint64_t value;
    };
    struct Pending {
        std::vector<Store> stores;
        size_t flushed = 0; // of them
    };
    static void apply(Line &line, const Pending &held, size_t count) {
        for (size_t i = 0; i < count; i++)
            line.words[held.stores[i].word] = held.stores[i].value;
    }

    Image now, durable;
    std::map<size_t, Pending> pending;
};

using Map = rivals::LeafMap<CachedMemory>;

static uint64_t images, recovery_images, violations, changes, epochs, logged, flushes, fences;

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
    Image left = {};          // one of the states
    uint64_t seen = 0;

    bool isAllowed(const Contents &found) const { return found == began || (is_ending && found == contents); }

    void check(const Image &image) {
        CachedMemory copy(image);
        bool is_cut = images++ % RecoveryEvery == 0;
        if (is_cut)
            copy.after_store = [&] {
                auto then = std::move(copy.after_store);
                copy.after_store = nullptr;
                CachedMemory again(copy.state(2, random));
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
        for (uint64_t ordinal = 0; ordinal < 2 + Samples; ordinal++) {
            Image image = memory.state(ordinal, random);
            if (random.below(++seen) == 0)
                left = image;
            check(image);
        }
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
    Image image(Map::linesOf(Leaves, LogMax));
    Contents contents;
    for (uint64_t life = 0; life < Lives && violations == 0; life++) {
        Life one{CachedMemory(image), seed, Random(seed * Lives + life), contents, contents};
        one.run();
        image = one.left;
        CachedMemory copy(image);
        contents = contentsOf(Map(copy, Leaves, LogMax));
        // As if many epochs had gone by, in which nothing was done: soon their tags are those of the first life.
        if (life == 0 && seed % 2) {
            image = copy.state(1, one.random);
            image[0].words[1] = 0xfffd;
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
