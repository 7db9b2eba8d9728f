// SPDX-License-Identifier: BSD-3-Clause
//
// Readers without locks beside writers in turn, under ThreadSanitizer: keys that nobody removes are always found, a
// value is always one that its key had, and scans are in order and leave no such key out.
//
//     mtree_thread_tests [BUG]
//
// With a bug it succeeds if that is noticed, within as many rounds as it takes; of sound readers it makes a few.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

const char *seeded_bug = "";
#define MTREE_PAUSE() ((void)0)

#include "mtree_model.hpp"
#include "volatile.hpp"

using workloads::Random;
using Map = workloads::MtreeMap<engines::Volatile>;

static constexpr size_t Keys = 400, Changes = 4000, Rounds = 3, RoundsMax = 400;
static std::atomic<uint64_t> failures;
static std::atomic<bool> writing;

static void expect(bool condition, const char *what) {
    if (!condition && failures++ < 3 && !*seeded_bug)
        fprintf(stderr, "%s\n", what);
}

// Every other one stays. Some share slices, some layers; removing the others empties nodes and whole layers.
static std::string keyOf(uint64_t number) {
    std::string key = std::to_string(number / 40 % 7) + std::string(number % 3 * 7, 'p');
    return key + std::to_string(1000 + number);
}
static bool stays(uint64_t number) { return number % 16 == 0; }

// A value tells its key.
static uint64_t valueOf(std::string_view key, uint64_t change) {
    return (std::hash<std::string_view>{}(key) << 32) | (change & 0xffffffff);
}
static bool isOf(std::string_view key, uint64_t value) { return value >> 32 == valueOf(key, 0) >> 32; }

static void write(Map &map, uint64_t seed, uint64_t half) {
    Random random(seed);
    for (uint64_t i = 0; i < Changes && failures == 0; i++) {
        uint64_t number = 2 * random.below(Keys / 2) + half;
        std::string key = keyOf(number);
        // In turns mostly insertions and mostly removals.
        bool grows = i / 500 % 2 == 0;
        if (stays(number) || random.below(8) < (grows ? 6 : 1))
            map.insert(key, valueOf(key, i));
        else if (random.below(4) == 0)
            map.update(key, valueOf(key, i));
        else
            map.erase(key);
    }
}

static void lookUp(const Map &map, uint64_t number) {
    std::string key = keyOf(number);
    auto value = map.find(key);
    expect(value || !stays(number), "a key that stays is not found");
    expect(!value || isOf(key, *value), "a look-up finds the value of another key");
}

static void scan(const Map &map, uint64_t number) {
    std::string from = keyOf(number), before;
    uint64_t stayed = 0, visited = map.scan(from, Keys, [&](std::string_view key, uint64_t value) {
        expect(key >= from && (before.empty() || key > before), "a scan is out of order");
        expect(isOf(key, value), "a scan finds the value of another key");
        uint64_t found = std::stoull(std::string(key.substr(key.size() - 4))) - 1000;
        stayed += found < Keys && stays(found);
        before = key;
    });
    uint64_t wanted = 0;
    for (uint64_t i = 0; i < Keys; i++)
        wanted += stays(i) && keyOf(i) >= from;
    expect(visited >= stayed && stayed == wanted, "a scan leaves out a key that stays");
}

static void read(const Map &map, uint64_t seed) {
    Random random(seed);
    while (writing && failures == 0) {
        for (int i = 0; i < 20; i++)
            lookUp(map, random.below(Keys));
        scan(map, random.below(Keys));
    }
}

static void round(uint64_t seed) {
    engines::Volatile engine("", 32 << 20, engines::OpenMode::Create);
    Map map(engine);
    for (uint64_t i = 0; i < Keys; i++)
        if (stays(i))
            map.insert(keyOf(i), valueOf(keyOf(i), 0));
    writing = true;
    std::thread readers[2], writers[2];
    for (uint64_t i = 0; i < 2; i++) {
        readers[i] = std::thread([&, i] { read(map, 4 * seed + i); });
        writers[i] = std::thread([&, i] { write(map, 4 * seed + 2 + i, i); });
    }
    for (std::thread &writer : writers)
        writer.join();
    writing = false;
    for (std::thread &reader : readers)
        reader.join();
    std::string problem = workloads::MtreeCheck<Map>(map).problem();
    expect(problem.empty(), problem.c_str());
}

int main(int argc, char **argv) {
    seeded_bug = argc > 1 ? argv[1] : "";
    uint64_t rounds = *seeded_bug ? RoundsMax : Rounds, seed = 0;
    while (++seed <= rounds && failures == 0)
        round(seed);
    printf("%lu rounds, %lu failures\n", seed - 1, failures.load());
    return (failures > 0) == (*seeded_bug != 0) ? 0 : 1;
}
