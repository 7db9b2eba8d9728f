// SPDX-License-Identifier: GPL-2.0-or-later
// The parts alone: replacement policies and the one dirty bit of a line.
#include <gtest/gtest.h>

#include <tuple>

#include "rig.h"

extern "C" {
#include "cpu_caches.h"
#include "device_cache.h"
#include "event_queue.h"
}

TEST(Fifo, AHitDoesNotSaveALine) {
    MemFifoArray a;
    MemCacheConfig config = {4 * 64, 4, 0}; // one set
    uint32_t slot;
    mem_fifo_init(&a, &config);
    for (uint64_t line = 10; line < 14; line++) {
        EXPECT_EQ(mem_fifo_put(&a, line, false, &slot).line, MEM_NO_LINE);
    }
    EXPECT_NE(mem_fifo_find(&a, 10), MEM_NO_SLOT); // used again, and still the first to go
    EXPECT_EQ(mem_fifo_put(&a, 14, true, &slot).line, 10u);
    EXPECT_EQ(mem_fifo_put(&a, 15, false, &slot).line, 11u);
    mem_fifo_drop(&a, mem_fifo_find(&a, 14)); // an empty slot is filled before anything is pushed out
    EXPECT_EQ(mem_fifo_put(&a, 16, false, &slot).line, MEM_NO_LINE);
    EXPECT_EQ(mem_fifo_put(&a, 17, false, &slot).line, 12u);
    mem_fifo_destroy(&a);
}

TEST(Lru, AHitSavesALineAndTakesTheDirtyBit) {
    MemLruArray a;
    MemCacheConfig config = {3 * 64, 3, 0};
    MemTag flags = 0;
    mem_lru_init(&a, &config);
    mem_lru_put(&a, 1, true);
    mem_lru_put(&a, 2, true);
    mem_lru_put(&a, 3, false);
    EXPECT_TRUE(mem_lru_hit(&a, 1, &flags));
    EXPECT_TRUE(mem_tag_dirty(flags));
    MemVictim victim = mem_lru_put(&a, 4, false);
    EXPECT_EQ(victim.line, 2u);
    EXPECT_TRUE(victim.dirty);
    EXPECT_EQ(mem_lru_put(&a, 1, false).line, MEM_NO_LINE); // already there
    EXPECT_FALSE(mem_lru_drop(&a, 4));
    EXPECT_FALSE(mem_lru_drop(&a, 4));
    EXPECT_EQ(mem_lru_put(&a, 5, true).line, MEM_NO_LINE);
    EXPECT_TRUE(mem_lru_clean(&a, 5));
    EXPECT_FALSE(mem_lru_clean(&a, 5));
    EXPECT_TRUE(mem_lru_has(&a, 5));
    EXPECT_FALSE(mem_lru_has(&a, 2));
    mem_lru_destroy(&a);
}

TEST(Hierarchy, DirtyBitIsHeldByTheInnermostLevel) {
    MemCpuConfig config = small_cpu();
    MemCpuCaches c;
    MemCpuAccess access;
    mem_cpu_init(&c, &config);
    mem_cpu_access(&c, 0, true, &access);
    EXPECT_TRUE(access.dirtied);
    mem_cpu_access(&c, 8, false, &access);
    mem_cpu_access(&c, 16, false, &access); // pushes line 0 to L2
    EXPECT_TRUE(access.displaced);
    EXPECT_EQ(mem_fifo_find(&c.l1, 0), MEM_NO_SLOT);
    mem_cpu_access(&c, 0, false, &access);
    EXPECT_EQ(access.level, MEM_LEVEL_L2);
    EXPECT_EQ(mem_cpu_check(&c), nullptr);
    uint32_t slot = access.slot;
    EXPECT_TRUE(mem_tag_dirty(c.l1.tags[slot]));
    mem_cpu_access(&c, 0, true, &access);
    EXPECT_FALSE(access.dirtied); // it was dirty all along
    EXPECT_TRUE(mem_cpu_clean(&c, 0, &slot));
    EXPECT_EQ(slot, access.slot);
    EXPECT_FALSE(mem_cpu_clean(&c, 0, &slot));
    EXPECT_FALSE(mem_cpu_drop(&c, 0, &slot));
    EXPECT_EQ(slot, access.slot);
    mem_cpu_destroy(&c);
}

TEST(Hierarchy, CheckFindsADoubleAndATwiceDirtyLine) {
    MemCpuConfig config = small_cpu();
    MemCpuCaches c;
    MemCpuAccess access;
    mem_cpu_init(&c, &config);
    mem_cpu_access(&c, 1, false, &access);
    EXPECT_EQ(mem_cpu_check(&c), nullptr);
    c.l2.tags[1 * 4 + 1] = c.l2.tags[1 * 4];
    EXPECT_NE(mem_cpu_check(&c), nullptr);
    c.l2.tags[1 * 4 + 1] = MEM_TAG_NONE;
    c.llc.tags[1 * 4] |= MEM_TAG_DIRTY;
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
    r.flush(0); // clean: further stores must be told
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
    r.now += memsys_wbinvd(r.m, r.now);
    EXPECT_EQ(r.dropped.size(), 6u);
}
