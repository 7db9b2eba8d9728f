// SPDX-License-Identifier: BSD-3-Clause
//
// The transactions for crash tests: small, but with inserts, page splits, changes of size and removals.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "kyoto_store.hpp"

namespace programs {

using Contents = std::map<std::string, uint64_t>;

constexpr unsigned KeyCount = 300;

inline KyotoShape smallShape(bool is_tree) { return {is_tree, 40, 64 << 10, 1024}; }

inline Contents contentsOf(KyotoStore &store) {
    Contents contents;
    store.forEach([&](const std::string &key, uint64_t value) { contents[key] = value; });
    return contents;
}

// Every key is looked up too: a walk may meet records that look-ups do not reach.
inline bool holds(KyotoStore &store, const Contents &wanted) {
    uint64_t value = 0;
    for (unsigned i = 0; i < KeyCount; i++) {
        std::string key = "key" + std::to_string(i);
        auto found = wanted.find(key);
        if (store.get(key, value) != (found != wanted.end()) || (found != wanted.end() && found->second != value))
            return false;
    }
    return contentsOf(store) == wanted;
}

struct Change {
    std::string key;
    uint64_t value; // 0: remove
};

inline std::vector<Change> changesOf(unsigned count, std::mt19937_64 &random) {
    std::vector<Change> changes(count);
    for (Change &change : changes) {
        change.key = "key" + std::to_string(random() % KeyCount);
        change.value = random() % 5 ? random() | 1 : 0;
    }
    return changes;
}

inline void applyTo(const std::vector<Change> &changes, Contents &contents) {
    for (const Change &change : changes)
        if (change.value)
            contents[change.key] = change.value;
        else
            contents.erase(change.key);
}

inline void applyTo(const std::vector<Change> &changes, KyotoStore &store) {
    for (const Change &change : changes)
        if (change.value)
            store.set(change.key, change.value);
        else
            store.database().remove(change.key);
}

inline Contents createDatabase(const std::string &path, const KyotoShape &shape) {
    std::mt19937_64 random(7);
    std::vector<Change> changes = changesOf(250, random);
    Contents contents;
    applyTo(changes, contents);
    KyotoStore store(path, shape, true);
    store.begin();
    applyTo(changes, store);
    store.commit(0);
    return contents;
}

} // namespace programs
