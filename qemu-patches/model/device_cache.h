/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The device's DRAM cache: which flash pages it holds, which of them are dirty
 * and in what order they were used. Times are kept here but decided elsewhere.
 * Every operation takes constant time, fully associative or not: a hash finds
 * the frame of a page, and each set is a doubly linked list in order of use.
 */
#ifndef MODEL_DEVICE_CACHE_H
#define MODEL_DEVICE_CACHE_H

#include "memsys.h"

#define MEM_NO_FRAME UINT32_MAX
#define MEM_NO_PAGE UINT64_MAX

typedef struct MemFrame {
    uint64_t page;     /* MEM_NO_PAGE: empty */
    mem_ps filled_ps;  /* its bytes are there: reads may be served */
    mem_ps settled_ps; /* every write to it has been accepted: it may be evicted */
    uint32_t newer;    /* neighbours in its set's order of use */
    uint32_t older;
    uint32_t hash_next;
    bool dirty;
} MemFrame;

typedef struct MemUseOrder {
    uint32_t newest;
    uint32_t oldest;
} MemUseOrder;

typedef struct MemDeviceCache {
    MemFrame *frames;
    MemUseOrder *sets;
    uint32_t *buckets;
    uint32_t frame_count;
    uint32_t ways;
    uint64_t set_mask;
    unsigned bucket_shift;
    uint64_t pages_dirtied; /* clean to dirty, since creation */
    uint64_t pages_cleaned; /* dirty to clean or lost, since creation */
} MemDeviceCache;

void mem_device_cache_init(MemDeviceCache *c, const MemDeviceConfig *config);
void mem_device_cache_destroy(MemDeviceCache *c);

/* The frame of a page or MEM_NO_FRAME; changes nothing. */
uint32_t mem_device_cache_find(const MemDeviceCache *c, uint64_t page);
/* Make a frame the newest of its set. */
void mem_device_cache_use(MemDeviceCache *c, uint32_t frame);
/* The frame that would hold an absent page: the least recently used one of its set. */
uint32_t mem_device_cache_victim(const MemDeviceCache *c, uint64_t page);
/* Let a frame hold another page, clean, as the newest of the set. */
void mem_device_cache_replace(MemDeviceCache *c, uint32_t frame, uint64_t page);
void mem_device_cache_mark_dirty(MemDeviceCache *c, uint32_t frame);

/* Nothing is under way any more: every time that a frame waits for is past. */
void mem_device_cache_settle(MemDeviceCache *c);
/* Every page is clean: written to flash. */
void mem_device_cache_clean(MemDeviceCache *c);
/* Every page is gone. */
void mem_device_cache_clear(MemDeviceCache *c);

/* NULL, or the law that is broken. */
const char *mem_device_cache_check(const MemDeviceCache *c);

#endif
