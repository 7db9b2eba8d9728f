// SPDX-License-Identifier: BSD-3-Clause
//
// A std::map in a persistent heap, one commit for each call.
#pragma once

#include <map>

#include "heap_allocator.hpp"

namespace stores {

class MapStore {
  public:
    MapStore(const std::string &path, uint64_t records, bool create)
        : heap(path, (1u << 20) + records * 2 * 128, create) {
        persistent::heap = &heap;
        map = heap.root<Map>();
        heap.commit();
    }

    void insert(uint64_t key, uint64_t value) {
        map->emplace(key, value);
        heap.commit();
    }
    void replace(uint64_t key, uint64_t value) {
        map->find(key)->second = value;
        heap.commit();
    }
    void remove(uint64_t key) {
        map->erase(key);
        heap.commit();
    }
    bool get(uint64_t key, uint64_t &value) {
        auto found = map->find(key);
        return found != map->end() && (value = found->second, true);
    }

  private:
    using Map = std::map<uint64_t, uint64_t, std::less<>, persistent::Allocator<std::pair<const uint64_t, uint64_t>>>;

    persistent::Heap heap;
    Map *map;
};

} // namespace stores
