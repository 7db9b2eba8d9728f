// SPDX-License-Identifier: BSD-3-Clause
//
// mtree in DRAM beside the crate masstree, in one process, in turns: batches of the same operations on the same keys,
// first the one and then the other, then the other way round. The stores must find the same values, and in scans the
// same number of keys.
//
//     mtree_yardstick [KEYS [THREADS]]
//
// A row for each kind of keys and operation: nanoseconds an operation (the median of the batches), and how many times
// those of the crate that mtree takes, with the crate's values out of line as mtree's are, and inside its nodes. With
// threads, that many read at the same time; the others wait meanwhile.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "mtree_map.hpp"
#include "random.hpp"
#include "volatile.hpp"

struct Key {
    const char *bytes;
    size_t length;
};
struct Tree;
extern "C" {
Tree *yardstick_new(bool boxed);
void yardstick_delete(Tree *tree);
void yardstick_put(const Tree *tree, const Key *keys, size_t count, uint64_t value);
uint64_t yardstick_get(const Tree *tree, const Key *keys, size_t count);
uint64_t yardstick_scan(const Tree *tree, const Key *keys, size_t count, size_t limit);
uint64_t yardstick_remove(const Tree *tree, const Key *keys, size_t count);
}

namespace {

using Map = workloads::MtreeMap<engines::Volatile>;
constexpr size_t Batches = 20, ScanLength = 50;

struct Batch {
    const Key *keys;
    size_t count;
};

class Crate {
  public:
    explicit Crate(bool boxed) : tree(yardstick_new(boxed)) {}
    ~Crate() { yardstick_delete(tree); }
    Crate(const Crate &) = delete;
    Crate &operator=(const Crate &) = delete;

    uint64_t put(Batch batch, uint64_t value) { return yardstick_put(tree, batch.keys, batch.count, value), 0; }
    uint64_t get(Batch batch) const { return yardstick_get(tree, batch.keys, batch.count); }
    uint64_t scan(Batch batch) const { return yardstick_scan(tree, batch.keys, batch.count / ScanLength, ScanLength); }
    uint64_t remove(Batch batch) { return yardstick_remove(tree, batch.keys, batch.count); }

  private:
    Tree *tree;
};

class Mtree {
  public:
    explicit Mtree(size_t keys) : engine("", keys * 400 + (64 << 20), engines::OpenMode::Create), map(engine) {}

    uint64_t put(Batch batch, uint64_t value) {
        for (size_t i = 0; i < batch.count; i++)
            map.insert(text(batch.keys[i]), value + i);
        return 0;
    }
    uint64_t get(Batch batch) const {
        uint64_t sum = 0;
        for (size_t i = 0; i < batch.count; i++)
            sum += map.find(text(batch.keys[i])).value_or(0);
        return sum;
    }
    uint64_t scan(Batch batch) const {
        uint64_t visited = 0;
        volatile uint64_t seen = 0; // keeps the reads alive
        for (size_t i = 0; i < batch.count / ScanLength; i++) {
            uint64_t sum = 0;
            visited +=
                map.scan(text(batch.keys[i]), ScanLength, [&](std::string_view, uint64_t value) { sum += value; });
            seen = seen + sum;
        }
        return visited;
    }
    uint64_t remove(Batch batch) {
        uint64_t removed = 0;
        for (size_t i = 0; i < batch.count; i++)
            removed += map.erase(text(batch.keys[i]));
        return removed;
    }

  private:
    static std::string_view text(const Key &key) { return {key.bytes, key.length}; }

    engines::Volatile engine;
    Map map;
};

// Keys in the order of one kind of operation.
std::vector<Key> shuffled(const std::vector<std::string> &texts, uint64_t seed) {
    std::vector<Key> keys;
    for (const std::string &text : texts)
        keys.push_back({text.data(), text.size()});
    workloads::Random random(seed);
    for (size_t i = keys.size(); i > 1; i--)
        std::swap(keys[i - 1], keys[random.below(i)]);
    return keys;
}

struct Timed {
    std::vector<double> ns[3]; // of mtree, of the crate with boxed and with inline values
    uint64_t found[3] = {};

    template <class Work> void time(size_t which, size_t operations, Work &&work) {
        auto begin = std::chrono::steady_clock::now();
        found[which] += work();
        std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
        ns[which].push_back(took.count() / static_cast<double>(operations));
    }
    static double median(std::vector<double> values) {
        std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
        return values[values.size() / 2];
    }
    void print(const char *kind, const char *operation) const {
        if (found[0] != found[1] || found[0] != found[2]) {
            fprintf(stderr, "mtree_yardstick: %s of %s: the trees differ\n", operation, kind);
            exit(1);
        }
        double mtree = median(ns[0]), boxed = median(ns[1]), in_place = median(ns[2]);
        printf("%-10s %-8s %9.0f %9.0f %9.0f %9.2f %9.2f\n", kind, operation, mtree, boxed, in_place, mtree / boxed,
               mtree / in_place);
    }
};

// work(tree, batch, number of the batch), on the three trees in turns.
template <class Trees, class Work>
Timed inTurns(Trees &trees, const std::vector<Key> &keys, size_t operations_of_key, Work &&work) {
    Timed timed;
    size_t size = keys.size() / Batches;
    for (size_t number = 0; number < Batches; number++) {
        Batch batch{keys.data() + number * size, size};
        for (size_t turn = 0; turn < 3; turn++) {
            size_t which = (number + turn) % 3, operations = std::max<size_t>(size / operations_of_key, 1);
            timed.time(which, operations, [&] {
                return which == 0   ? work(trees.mtree, batch, number)
                       : which == 1 ? work(trees.boxed, batch, number)
                                    : work(trees.in_place, batch, number);
            });
        }
    }
    return timed;
}

template <class Tree> uint64_t getByThreads(const Tree &tree, Batch batch, size_t threads) {
    std::vector<std::thread> others;
    std::vector<uint64_t> sums(threads);
    for (size_t i = 0; i < threads; i++)
        others.emplace_back([&, i] { sums[i] = tree.get(batch); });
    for (std::thread &other : others)
        other.join();
    return sums[0];
}

void compare(const char *kind, const std::vector<std::string> &texts, size_t threads) {
    struct {
        Mtree mtree;
        Crate boxed{true}, in_place{false};
    } trees{.mtree = Mtree(texts.size())};
    uint64_t size = texts.size();
    inTurns(trees, shuffled(texts, 1), 1, [&](auto &tree, Batch batch, uint64_t number) {
        return tree.put(batch, number * size);
    }).print(kind, "insert");
    inTurns(trees, shuffled(texts, 2), 1, [](auto &tree, Batch batch, uint64_t) {
        return tree.get(batch);
    }).print(kind, "read");
    if (threads > 1)
        inTurns(trees, shuffled(texts, 3), 1, [&](auto &tree, Batch batch, uint64_t) {
            return getByThreads(tree, batch, threads);
        }).print(kind, "read-all");
    inTurns(trees, shuffled(texts, 4), 1, [&](auto &tree, Batch batch, uint64_t number) {
        return tree.put(batch, (Batches + number) * size);
    }).print(kind, "update");
    inTurns(trees, shuffled(texts, 5), ScanLength, [](auto &tree, Batch batch, uint64_t) {
        return tree.scan(batch);
    }).print(kind, "scan");
    inTurns(trees, shuffled(texts, 6), 1, [](auto &tree, Batch batch, uint64_t) {
        return tree.remove(batch);
    }).print(kind, "remove");
}

} // namespace

int main(int argc, char **argv) {
    size_t count = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1000000;
    size_t threads = argc > 2 ? strtoull(argv[2], nullptr, 10) : 1;
    if (count < Batches * ScanLength) {
        fprintf(stderr, "mtree_yardstick: KEYS must be at least %zu\n", Batches * ScanLength);
        return 2;
    }
    std::vector<std::string> ycsb, eight;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number = workloads::splitmix64(i);
        ycsb.push_back("user" + std::to_string(number >> 1));
        eight.emplace_back(reinterpret_cast<const char *>(&number), sizeof(number));
    }
    printf("%-10s %-8s %9s %9s %9s %9s %9s\n", "keys", "", "mtree ns", "boxed ns", "inline ns", "to boxed",
           "to inline");
    compare("ycsb", ycsb, threads);
    compare("8 bytes", eight, threads);
}
