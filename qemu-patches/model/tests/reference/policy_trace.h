// SPDX-License-Identifier: GPL-2.0-or-later
// Runs a device cache, and one reference policy for each of its sets, on a random trace.
#pragma once

#include <random>

#include "ref_policies.h"

extern "C" {
#include "device/device_cache.h"
}

class BareCache : public MemDeviceCache {
  public:
    BareCache(uint32_t policy, uint32_t sets, uint32_t ways, uint64_t seed = 1) {
        MemDeviceConfig config = {};
        config.cache_page_bytes = 64;
        config.cache_size_bytes = uint64_t(sets) * ways * 64;
        config.cache_ways = ways;
        config.cache_policy = policy;
        config.cache_seed = seed;
        mem_device_cache_init(this, &config);
    }
    ~BareCache() { mem_device_cache_destroy(this); }
    BareCache(const BareCache &) = delete;
    BareCache &operator=(const BareCache &) = delete;

    bool access(Page page) {
        uint32_t frame = mem_device_cache_find(this, page);
        if (frame != MEM_NO_FRAME) {
            mem_device_cache_hit(this, frame);
            return true;
        }
        mem_device_cache_replace(this, mem_device_cache_victim(this, page), page);
        return false;
    }
};

// A mix of loops, a hot set and single uses, with good and bad patterns for every policy.
class PolicyTrace {
  public:
    PolicyTrace(uint64_t seed, uint32_t pages) : random_(seed), pages_(pages) {}
    Page next() {
        switch (random_() % 4) {
        case 0:
            return random_() % pages_;
        case 1:
            return random_() % (pages_ / 8 + 1);
        case 2:
            return pages_ + once_++;
        default:
            return loop_++ % (pages_ / 2 + 1);
        }
    }

  private:
    std::mt19937_64 random_;
    uint32_t pages_;
    Page once_ = 0, loop_ = 0;
};

// The first step at which the hits differ, or -1. `hits` counts the cache's hits.
inline int first_difference(uint32_t policy, uint32_t sets, uint32_t ways, uint64_t seed, int steps, int *hits) {
    BareCache cache(policy, sets, ways);
    std::vector<std::unique_ptr<RefPolicy>> references;
    for (uint32_t set = 0; set < sets; set++) {
        references.push_back(make_reference(mem_cache_policy(policy)->name, ways));
    }
    PolicyTrace trace(seed, sets * ways * 2);
    for (int step = 0; step < steps; step++) {
        Page page = trace.next();
        bool hit = cache.access(page);
        *hits += hit;
        if (hit != references[page % sets]->access(page)) {
            return step;
        }
    }
    return -1;
}
