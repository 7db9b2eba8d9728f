// SPDX-License-Identifier: BSD-3-Clause
//
// The workload btree: random keys are inserted, read by random choice, read depth first, and deleted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "btree_map.hpp"
#include "driver.hpp"
#include "live_range.hpp"
#include "options.hpp"
#include "report.hpp"

namespace workloads {

struct BtreeOptions : Options {
    uint64_t keys = 15625; // 1M / 64, the scale of the checked-in experiments

    std::vector<Flag> flags() {
        return {{"keys", "N", "inserted, read and deleted (default 15625)",
                 [this](const char *text) { keys = number("keys", text, 1, Many); }}};
    }
};

template <class Engine> class Btree {
  public:
    static constexpr const char *Name = "btree";
    using Options = BtreeOptions;

    static size_t poolBytes(const Options &options) { return options.keys * 128 + (8u << 20); }

    Btree(Engine &engine, const Options &options) : options(options), map(engine) {}

    void load() {}

    std::vector<Phase> phases() {
        return {{"insert", [this](Progress &progress) { insert(progress); }},
                {"read", [this](Progress &) { read(); }},
                {"depth-first", [this](Progress &) { readAll(); }},
                {"delete", [this](Progress &progress) { empty(progress); }}};
    }

    void describe(Report &report) const {
        uint64_t checksum = map.size();
        map.forEach([&](const Item &item) { checksum = splitmix64(checksum ^ item.key ^ splitmix64(item.value)); });
        report.add("keys", options.keys).addHex("read_sum", sum).addHex("checksum", checksum);
    }

    bool complete() const { return missing == 0 && map.size() == 0; }
    uint64_t commits() const { return map.commits(); }

    std::string difference() const {
        LiveRange expected(options.keys, map.commits());
        uint64_t items = 0, before = 0;
        bool ascending = true;
        map.forEach([&](const Item &item) {
            ascending = ascending && (items++ == 0 || before < item.key);
            before = item.key;
        });
        if (!ascending || items != expected.size() || map.size() != items)
            return std::to_string(items) + " keys instead of " + std::to_string(expected.size()) + ", or out of order";
        for (uint64_t i = expected.begin; i < expected.end; i++)
            if (const uint64_t *value = map.find(key(i)); !value || *value != itemValue(i, options.seed))
                return "key number " + std::to_string(i) + " is missing or has another value";
        return "";
    }

  private:
    uint64_t key(uint64_t i) const { return splitmix64(i + splitmix64(options.seed)); }

    void insert(Progress &progress) {
        for (uint64_t i = 0; i < options.keys; i++) {
            map.insert(key(i), itemValue(i, options.seed));
            progress.committed();
        }
    }

    void read() {
        Random random(options.seed);
        for (uint64_t i = 0; i < options.keys; i++) {
            const uint64_t *value = map.find(key(random.below(options.keys)));
            missing += value == nullptr;
            sum += value ? *value : 0;
        }
    }

    void readAll() {
        map.forEach([&](const Item &item) { sum += item.value; });
    }

    void empty(Progress &progress) {
        for (uint64_t i = 0; i < options.keys; i++) {
            if (map.erase(key(i)))
                progress.committed();
            else
                missing++;
        }
    }

    Options options;
    BtreeMap<Engine> map;
    uint64_t missing = 0;
    uint64_t sum = 0; // sum of the values read: keeps the reads alive, and must agree between engines
};

} // namespace workloads
