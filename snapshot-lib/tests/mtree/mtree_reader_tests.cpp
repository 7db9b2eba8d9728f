// SPDX-License-Identifier: BSD-3-Clause
//
// A reader with a change of the tree between two of its looks, at each place and by each kind of change: its result was
// true at some time while it read. One thread does it all, so that a seed repeats a failure.
//
//     mtree_reader_tests [BUG]
//
// With a bug it succeeds if that is noticed.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <set>

const char *seeded_bug = "";
static std::function<void()> at_pause;
#define MTREE_PAUSE() (at_pause ? at_pause() : (void)0)

#include "mtree_model.hpp"
#include "volatile.hpp"

using workloads::Random;
using Map = workloads::MtreeMap<engines::Volatile>;

static constexpr uint64_t Seeds = 20, Readings = 800;

static std::string keyOf(Random &random) {
    uint64_t number = random.below(160);
    return std::to_string(number % 5) + std::string(number % 3 * 7, 'p') + std::to_string(number);
}

struct Reading {
    Map &map;
    Model &model;
    Random random;
    uint64_t pauses_left = 0, changes = 0;
    Model before = {};                                                       // when the reading began
    std::map<std::string, std::vector<std::optional<uint64_t>>> became = {}; // of keys that changed since

    void change() {
        std::string key = keyOf(random);
        uint64_t value = random.next();
        bool grows = changes++ / 200 % 2 == 0;
        if (random.below(8) < (grows ? 6 : 2)) {
            map.insert(key, value);
            model[key] = value;
        } else if (random.below(3) == 0) {
            if (map.update(key, value))
                model[key] = value;
        } else {
            map.erase(key);
            model.erase(key);
        }
        auto at = model.find(key);
        became[key].push_back(at == model.end() ? std::nullopt : std::optional(at->second));
    }

    // So many changes at one of the next pauses.
    void begin(uint64_t count) {
        before = model;
        became.clear();
        pauses_left = random.below(8);
        at_pause = [this, count] {
            if (pauses_left-- > 0)
                return;
            at_pause = nullptr;
            for (uint64_t i = 0; i < count; i++)
                change();
        };
    }

    bool was(const std::string &key, std::optional<uint64_t> found) const {
        auto first = before.find(key);
        if (found == (first == before.end() ? std::nullopt : std::optional(first->second)))
            return true;
        auto later = became.find(key);
        return later != became.end() && std::ranges::count(later->second, found) > 0;
    }

    uint64_t burst() { return 1 + random.below(random.below(4) == 0 ? 40 : 4); }

    bool lookUp() {
        std::string key = keyOf(random);
        begin(burst());
        auto found = map.find(key);
        at_pause = nullptr;
        return was(key, found);
    }

    // Each key by itself was so at some time; keys that were always there are found.
    bool scan() {
        std::string from = keyOf(random), last;
        begin(burst());
        auto found = scanned(map, from, ~uint64_t{0});
        at_pause = nullptr;
        std::set<std::string> seen;
        for (const auto &[key, value] : found) {
            if (!was(key, value) || key < from || (!last.empty() && key <= last))
                return false;
            seen.insert(last = key);
        }
        for (auto key = before.lower_bound(from); key != before.end(); ++key)
            if (!seen.count(key->first) && !was(key->first, std::nullopt))
                return false;
        return true;
    }
};

int main(int argc, char **argv) {
    seeded_bug = argc > 1 ? argv[1] : "";
    uint64_t failures = 0, readings = 0;
    for (uint64_t seed = 1; seed <= Seeds && failures == 0; seed++) {
        engines::Volatile engine("", 8 << 20, engines::OpenMode::Create);
        Map map(engine);
        Model model;
        Reading reading{map, model, Random(seed)};
        for (uint64_t i = 0; i < Readings && failures == 0; i++) {
            reading.change();
            failures += !(i % 2 ? reading.scan() : reading.lookUp());
            readings++;
        }
        if (!*seeded_bug && difference(map, model) != "")
            failures++;
        if (failures && !*seeded_bug)
            printf("seed %lu, reading %lu\n", seed, readings);
    }
    printf("%lu readings, %lu failures\n", readings, failures);
    return (failures > 0) == (*seeded_bug != 0) ? 0 : 1;
}
