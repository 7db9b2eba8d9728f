// SPDX-License-Identifier: GPL-2.0-or-later
// Cache components in isolation: sets and their order of use, and the single dirty bit of a line.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>
#include <tuple>
#include <vector>

#include "../rigs/rig.h"

extern "C" {
#include "cpu/cpu_caches.h"
#include "device/device_cache.h"
#include "persist/event_queue.h"
}

namespace {

// A set-associative array of the CPU's caches, with the operations that the tests need.
class Sets {
  public:
    explicit Sets(MemCacheConfig config) { mem_sets_init(&sets_, &config); }
    ~Sets() { mem_sets_destroy(&sets_); }
    Sets(const Sets &) = delete;
    Sets &operator=(const Sets &) = delete;

    uint32_t way(uint64_t line) const { return mem_set_find(&sets_, mem_place_of(&sets_, line)); }
    bool has(uint64_t line) const { return mem_sets_have(&sets_, line); }
    void use(uint64_t line) { mem_set_use(mem_place_of(&sets_, line).set, way(line)); }
    void drop(uint64_t line) { mem_set_drop(&sets_, mem_place_of(&sets_, line).set, way(line)); }
    // Returns the line that was evicted, or -1.
    int64_t fill(uint64_t line, bool dirty = false) {
        uint32_t way;
        MemPlace p = mem_place_of(&sets_, line);
        MemVictim victim = mem_set_fill(&sets_, p, dirty ? MEM_DIRTY : 0, &way);
        victim_dirty = victim.dirty;
        return victim.tag == MEM_NO_TAG ? -1 : int64_t(mem_line_of(&sets_, p.number, victim.tag));
    }
    bool victim_dirty = false;

  private:
    MemSets sets_;
};

} // namespace

TEST(Sets, WhatIsNotUsedAgainGoesInTheOrderItCame) {
    Sets sets({4 * 64, 4, 0}); // one set
    for (uint64_t line = 10; line < 14; line++) {
        EXPECT_EQ(sets.fill(line), -1);
    }
    EXPECT_TRUE(sets.has(10)); // a look-up does not change the order
    EXPECT_EQ(sets.fill(14, true), 10);
    EXPECT_EQ(sets.fill(15), 11);
    EXPECT_FALSE(sets.victim_dirty);
    sets.drop(14); // an empty way is filled before a line is evicted
    EXPECT_EQ(sets.fill(16), -1);
    EXPECT_EQ(sets.fill(17), 12);
}

TEST(Sets, UseSavesALine) {
    Sets sets({3 * 64, 3, 0});
    sets.fill(1);
    sets.fill(2, true);
    sets.fill(3);
    sets.use(1);
    EXPECT_EQ(sets.fill(4), 2);
    EXPECT_TRUE(sets.victim_dirty);
    sets.use(4); // already the newest
    EXPECT_EQ(sets.fill(5), 3);
    EXPECT_EQ(sets.fill(6), 1);
    EXPECT_EQ(sets.fill(7), 4);
}

// Compared with a list, for every number of ways.
TEST(Sets, OrderOfUseIsThatOfAList) {
    for (uint32_t ways = 1; ways <= MEM_MAX_CPU_WAYS; ways++) {
        Sets sets({uint64_t(ways) * 3 * 64, ways, 0}); // three sets: the set of a line is its number modulo 3
        std::vector<std::list<uint64_t>> lists(3);     // newest first
        std::mt19937 random(ways);
        for (int i = 0; i < 20000; i++) {
            uint64_t line = random() % (6 * ways);
            std::list<uint64_t> &list = lists[line % 3];
            auto at = std::find(list.begin(), list.end(), line);
            ASSERT_EQ(sets.has(line), at != list.end());
            if (at != list.end()) {
                list.erase(at);
                if (random() % 4 == 0) {
                    sets.drop(line);
                    continue;
                }
                sets.use(line);
            } else {
                bool full = list.size() == ways;
                ASSERT_EQ(sets.fill(line), full ? int64_t(list.back()) : -1);
                list.resize(list.size() - full);
            }
            list.push_front(line);
        }
    }
}

TEST(Sets, ComparingAllTagsAtOnceIsAsOneByOne) {
    std::mt19937 random(1);
    MemTag tags[16];
    for (int i = 0; i < 100000; i++) {
        for (MemTag &tag : tags) {
            tag = random() % 8 ? random() % 5 : MEM_NO_TAG;
        }
        uint32_t count = 1 + random() % 16;
        MemTag wanted = random() % 5;
        ASSERT_EQ(mem_equal_tags(tags, count, wanted), mem_equal_tags_plain(tags, count, wanted));
    }
}

TEST(Sets, AnyNumberOfThemHoldsWhatItShould) {
    MemCacheConfig config = {.size_bytes = 11 * 5 * 64, .ways = 11, .latency_ps = 0};
    Sets sets(config);
    for (uint64_t line = 1000000; line < 1000000 + 55; line++) {
        EXPECT_EQ(sets.fill(line), -1);
    }
    for (uint64_t line = 1000000; line < 1000000 + 55; line++) {
        EXPECT_TRUE(sets.has(line));
    }
    EXPECT_EQ(sets.fill(1000055), 1000000);
}

// Both steps of an access.
struct Access {
    Access(MemCpuCaches *c, uint64_t line, bool store) : l1(mem_cpu_access_l1(c, line, store)) {
        if (!l1.hit) {
            mem_cpu_fetch(c, line, l1.victim.dirty ? mem_cpu_l1_victim(c, line, l1.victim) : MEM_NO_LINE, &beyond);
            l1.dirtied = store && !beyond.dirty;
            if (beyond.dirty) {
                mem_cpu_l1_dirty(c, l1.slot);
            }
        }
    }
    MemL1Access l1;
    MemCpuFetch beyond{};
};

TEST(Hierarchy, DirtyBitIsHeldByTheInnermostLevel) {
    MemCpuConfig config = small_cpu();
    MemCpuCaches c;
    uint32_t slot;
    mem_cpu_init(&c, &config, nullptr);
    EXPECT_TRUE(Access(&c, 0, true).l1.dirtied);
    EXPECT_EQ(Access(&c, 8, false).l1.victim.tag, MEM_NO_TAG);
    EXPECT_TRUE(Access(&c, 16, false).l1.victim.dirty); // moves line 0 to L2
    EXPECT_EQ(mem_cpu_l1_slot(&c, 0), MEM_NO_SLOT);
    Access again(&c, 0, false);
    EXPECT_EQ(again.beyond.level, MEM_LEVEL_L2);
    EXPECT_TRUE(again.beyond.dirty);
    EXPECT_EQ(mem_cpu_check(&c), nullptr);
    EXPECT_FALSE(Access(&c, 0, true).l1.dirtied); // it was dirty all along
    EXPECT_TRUE(mem_cpu_clean(&c, 0, &slot));
    EXPECT_EQ(slot, again.l1.slot);
    EXPECT_FALSE(mem_cpu_clean(&c, 0, &slot));
    EXPECT_FALSE(mem_cpu_drop(&c, 0, &slot));
    EXPECT_EQ(slot, again.l1.slot);
    mem_cpu_destroy(&c);
}

TEST(Hierarchy, CheckFindsADoubleATwiceDirtyLineAndABrokenOrder) {
    MemCpuConfig config = small_cpu();
    MemCpuCaches c;
    mem_cpu_init(&c, &config, nullptr);
    Access(&c, 1, false);
    EXPECT_EQ(mem_cpu_check(&c), nullptr);
    MemSet *l2 = mem_place_of(&c.l2, 1).set;
    l2->tags[1] = l2->tags[0];
    EXPECT_NE(mem_cpu_check(&c), nullptr);
    l2->tags[1] = MEM_NO_TAG;
    mem_place_of(&c.llc, 1).set->marks |= MEM_DIRTY;
    EXPECT_NE(mem_cpu_check(&c), nullptr);
    mem_place_of(&c.llc, 1).set->marks = 0;
    EXPECT_EQ(mem_cpu_check(&c), nullptr);
    l2->order = 0;
    EXPECT_NE(mem_cpu_check(&c), nullptr);
    mem_cpu_destroy(&c);
}

static void put_page(MemDeviceCache *c, uint64_t page) {
    mem_device_cache_replace(c, mem_device_cache_victim(c, page), page);
}

TEST(DeviceCache, LeastRecentlyUsedPageOfTheSetGoes) {
    MemDeviceConfig config = small_device(true);
    config.cache_size_bytes = 8 * 4096;
    config.cache_ways = 4; // two sets: even and odd pages
    MemDeviceCache c;
    mem_device_cache_init(&c, &config);
    for (uint64_t page = 0; page < 8; page++) {
        put_page(&c, page);
    }
    mem_device_cache_hit(&c, mem_device_cache_find(&c, 0));
    put_page(&c, 8);
    EXPECT_EQ(mem_device_cache_find(&c, 2), MEM_NO_FRAME);
    EXPECT_NE(mem_device_cache_find(&c, 0), MEM_NO_FRAME);
    EXPECT_NE(mem_device_cache_find(&c, 1), MEM_NO_FRAME);
    mem_device_cache_mark_dirty(&c, mem_device_cache_find(&c, 1));
    mem_device_cache_mark_dirty(&c, mem_device_cache_find(&c, 1));
    EXPECT_EQ(c.pages_dirtied, 1u);
    EXPECT_EQ(mem_device_cache_check(&c), nullptr);
    c.pages_dirtied++;
    EXPECT_NE(mem_device_cache_check(&c), nullptr);
    c.pages_dirtied--;
    mem_device_cache_clear(&c);
    EXPECT_EQ(mem_device_cache_find(&c, 1), MEM_NO_FRAME);
    EXPECT_EQ(mem_device_cache_check(&c), nullptr);
    c.frames[0].dirty = true;
    EXPECT_NE(mem_device_cache_check(&c), nullptr);
    c.frames[0].dirty = false;
    c.frames[1].tag = 3; // a page where none was filled
    EXPECT_NE(mem_device_cache_check(&c), nullptr);
    mem_device_cache_destroy(&c);
}

TEST(Events, ByTimeThenRankThenInTheOrderAdded) {
    MemEventQueue q;
    mem_events_init(&q);
    EXPECT_EQ(mem_events_next_ps(&q), MEM_NEVER);
    for (uint32_t i = 0; i < 1000; i++) {
        mem_events_add(&q, (i * 7919) % 100, (i * 31) % 3, i);
    }
    auto key = [](const MemEvent &e) { return std::tuple(e.at_ps, e.rank, e.item); };
    MemEvent last = mem_events_pop(&q);
    while (q.count) {
        MemEvent e = mem_events_pop(&q);
        EXPECT_LT(key(last), key(e));
        last = e;
    }
    mem_events_destroy(&q);
}

TEST(Slots, EveryLossOfASlotIsTold) {
    Rig r;
    EXPECT_EQ(memsys_l1_slots(r.m), 16u);
    r.store(0, 1);
    uint32_t slot = r.slot;
    r.flush(0); // clean: the model must see further stores
    EXPECT_EQ(r.dropped, std::vector<uint32_t>{slot});
    r.flush(0);
    EXPECT_EQ(r.dropped.size(), 1u); // it was clean already
    r.nt_store(0, 2);
    EXPECT_EQ(r.dropped.size(), 2u);
    r.load(kWindow);
    r.flush(0, MEM_CLFLUSHOPT);
    EXPECT_EQ(r.dropped.size(), 3u);
    r.load(kWindow);
    r.load(kWindow + 512);
    EXPECT_EQ(r.dropped.size(), 3u);
    r.load(kWindow + 1024);
    EXPECT_EQ(r.dropped.size(), 4u);
    r.now += memsys_wbinvd(r.m, 0, r.now);
    EXPECT_EQ(r.dropped.size(), 6u);
}
