/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The device's DRAM cache: which flash pages it holds and which of them are dirty.
 * Times are stored here but decided elsewhere; a policy selects the page that
 * leaves. Every operation takes constant time with any associativity, because a
 * hash finds the frame of a page. Zeroed memory represents empty frames, so that a
 * large cache costs nothing before it is used.
 */
#ifndef MODEL_DEVICE_CACHE_H
#define MODEL_DEVICE_CACHE_H

#include "../config/device.h"
#include "policies/policy.h"

#define MEM_NO_FRAME UINT32_MAX

typedef struct MemFrame {
    uint64_t tag;      /* the page's number + 1; 0: empty */
    mem_ps filled_ps;  /* when its bytes are there: reads may be served */
    mem_ps settled_ps; /* when every write to it has been accepted: it may be evicted */
    mem_ps program_ps; /* start and end of the last program by write-through, if `programmed` */
    mem_ps program_end_ps;
    uint32_t hash_next; /* frame + 1 of the next page in the bucket */
    uint32_t epoch;     /* epoch of the times; times of earlier epochs are past */
    uint32_t mask;      /* mask of its valid bytes, while not all are valid (valid_masks.h) */
    bool dirty;
    bool programmed;
    bool prefetched; /* prefetched and not used yet */
} MemFrame;

typedef struct MemDeviceCache {
    MemFrame *frames; /* set s has the frames from s * ways on */
    uint32_t *used;   /* for each set, the number of frames that hold a page: the first ones */
    uint32_t *buckets;
    uint32_t frame_count;
    uint32_t ways;
    uint32_t set_count;
    uint32_t epoch;
    uint64_t set_magic; /* 2^64 / set_count, rounded down */
    unsigned bucket_shift;
    uint64_t last_tag; /* tag of the page found last, which is likely to be requested again */
    uint32_t last_frame;
    uint64_t seed;
    const MemCachePolicy *policy;
    void *policy_state;
    uint64_t pages_dirtied; /* clean to dirty, since creation */
    uint64_t pages_cleaned; /* dirty to clean or lost, since creation */
} MemDeviceCache;

void mem_device_cache_init(MemDeviceCache *c, const MemDeviceConfig *config);
void mem_device_cache_destroy(MemDeviceCache *c);

static inline uint64_t mem_frame_page(const MemFrame *f) { return f->tag - 1; }
/* When the frame's bytes are there, and when it may be evicted. */
static inline mem_ps mem_frame_filled(const MemDeviceCache *c, const MemFrame *f) {
    return f->epoch == c->epoch ? f->filled_ps : 0;
}
static inline mem_ps mem_frame_settled(const MemDeviceCache *c, const MemFrame *f) {
    return f->epoch == c->epoch ? f->settled_ps : 0;
}

/* The frame may not be evicted before `accepted_ps`. */
static inline void mem_frame_accepted(const MemDeviceCache *c, MemFrame *f, mem_ps accepted_ps) {
    if (f->epoch != c->epoch) {
        f->epoch = c->epoch;
        f->filled_ps = 0;
        f->settled_ps = 0;
        f->programmed = false;
    }
    f->settled_ps = f->settled_ps > accepted_ps ? f->settled_ps : accepted_ps;
}

/* The frame of a page, or MEM_NO_FRAME. */
uint32_t mem_device_cache_search(MemDeviceCache *c, uint64_t page);
static inline uint32_t mem_device_cache_find(MemDeviceCache *c, uint64_t page) {
    return c->last_tag == page + 1 ? c->last_frame : mem_device_cache_search(c, page);
}

/* Tell the policy about a hit. */
static inline void mem_device_cache_hit(MemDeviceCache *c, uint32_t frame) {
    c->policy->hit(c->policy_state, c->set_count == 1 ? 0 : frame / c->ways, frame);
}

/*
 * The frame for an absent page: an empty frame of its set, else the frame that the policy gives up. The caller must
 * call mem_device_cache_replace() next.
 */
uint32_t mem_device_cache_victim(MemDeviceCache *c, uint64_t page);
/* Put the page into that frame, clean, with all times in the past. */
void mem_device_cache_replace(MemDeviceCache *c, uint32_t frame, uint64_t page);
void mem_device_cache_mark_dirty(MemDeviceCache *c, uint32_t frame);
void mem_device_cache_mark_clean(MemDeviceCache *c, uint32_t frame);

/* Use another policy from now on, which sees the present pages as filled in the order of their frames. */
void mem_device_cache_set_policy(MemDeviceCache *c, uint32_t policy);

/* Nothing is under way any more: every time for which a frame waits is past. */
void mem_device_cache_settle(MemDeviceCache *c);
/* Make every page whole and clean, after a write to flash. The caller frees the masks. */
void mem_device_cache_clean(MemDeviceCache *c);
/* Drop every page. */
void mem_device_cache_clear(MemDeviceCache *c);

/* NULL, or the broken law. */
const char *mem_device_cache_check(const MemDeviceCache *c);

#endif
