/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "device_cache.h"

#include <assert.h>
#include <stdlib.h>

#include "../base/mem_alloc.h"
#include "../base/mem_hash.h"

static size_t bucket_count(const MemDeviceCache *c) { return (size_t)1 << (64 - c->bucket_shift); }

/* page mod set_count without a division: the quotient from the rounded reciprocal is at most 1 too small. */
static uint32_t set_of(const MemDeviceCache *c, uint64_t page) {
    if (c->set_count == 1) {
        return 0;
    }
    uint64_t quotient = (uint64_t)(((unsigned __int128)page * c->set_magic) >> 64);
    uint64_t rest = page - quotient * c->set_count;
    return (uint32_t)(rest >= c->set_count ? rest - c->set_count : rest);
}

static void create_policy(MemDeviceCache *c) {
    MemPolicyShape shape = {.sets = c->set_count, .ways = c->ways, .seed = c->seed};
    c->policy_state = c->policy->create(&shape);
}

static void create_empty(MemDeviceCache *c) {
    c->frames = mem_calloc(c->frame_count, sizeof(*c->frames));
    c->used = mem_calloc(c->set_count, sizeof(*c->used));
    c->buckets = mem_calloc(bucket_count(c), sizeof(*c->buckets));
    c->last_tag = 0;
    create_policy(c);
}

void mem_device_cache_init(MemDeviceCache *c, const MemDeviceConfig *config) {
    *c = (MemDeviceCache){
        .frame_count = (uint32_t)(config->cache_size_bytes / config->cache_page_bytes),
        .policy = mem_cache_policy(config->cache_policy),
        .seed = config->cache_seed,
    };
    c->ways = config->cache_ways ? config->cache_ways : c->frame_count;
    c->set_count = c->frame_count / c->ways;
    c->set_magic = c->set_count > 1 ? UINT64_MAX / c->set_count : 0;
    c->bucket_shift = mem_hash_shift(c->frame_count);
    create_empty(c);
}

void mem_device_cache_destroy(MemDeviceCache *c) {
    if (c->policy) {
        c->policy->destroy(c->policy_state);
    }
    free(c->frames);
    free(c->used);
    free(c->buckets);
}

/* The link that holds the number of the page's frame, or would hold it. */
static uint32_t *find_link(const MemDeviceCache *c, uint64_t page) {
    uint32_t *link = &c->buckets[mem_hash(page, c->bucket_shift)];
    while (*link && c->frames[*link - 1].tag != page + 1) {
        link = &c->frames[*link - 1].hash_next;
    }
    return link;
}

uint32_t mem_device_cache_search(MemDeviceCache *c, uint64_t page) {
    uint32_t frame = *find_link(c, page) - 1; /* 0 gives MEM_NO_FRAME */

    if (frame != MEM_NO_FRAME) {
        c->last_tag = page + 1;
        c->last_frame = frame;
    }
    return frame;
}

uint32_t mem_device_cache_victim(MemDeviceCache *c, uint64_t page) {
    uint32_t set = set_of(c, page);

    if (c->used[set] < c->ways) {
        return set * c->ways + c->used[set];
    }
    return c->policy->victim(c->policy_state, set, page);
}

static void remove_page(MemDeviceCache *c, uint32_t set, uint32_t frame) {
    MemFrame *f = &c->frames[frame];
    uint64_t page = mem_frame_page(f);

    *find_link(c, page) = f->hash_next;
    c->pages_cleaned += f->dirty;
    c->policy->removed(c->policy_state, set, frame, page);
    c->last_tag = 0;
}

void mem_device_cache_replace(MemDeviceCache *c, uint32_t frame, uint64_t page) {
    MemFrame *f = &c->frames[frame];
    uint32_t set = set_of(c, page);
    uint32_t *bucket = &c->buckets[mem_hash(page, c->bucket_shift)];

    assert(frame / c->ways == set);
    if (f->tag) {
        remove_page(c, set, frame);
    } else {
        c->used[set]++;
    }
    *f = (MemFrame){.tag = page + 1, .hash_next = *bucket, .epoch = c->epoch};
    *bucket = frame + 1;
    c->policy->filled(c->policy_state, set, frame, page);
}

void mem_device_cache_mark_dirty(MemDeviceCache *c, uint32_t frame) {
    c->pages_dirtied += !c->frames[frame].dirty;
    c->frames[frame].dirty = true;
}

void mem_device_cache_mark_clean(MemDeviceCache *c, uint32_t frame) {
    c->pages_cleaned += c->frames[frame].dirty;
    c->frames[frame].dirty = false;
}

void mem_device_cache_set_policy(MemDeviceCache *c, uint32_t policy) {
    c->policy->destroy(c->policy_state);
    c->policy = mem_cache_policy(policy);
    create_policy(c);
    for (uint32_t set = 0; set < c->set_count; set++) {
        for (uint32_t frame = set * c->ways; frame < set * c->ways + c->used[set]; frame++) {
            c->policy->filled(c->policy_state, set, frame, mem_frame_page(&c->frames[frame]));
        }
    }
}

void mem_device_cache_settle(MemDeviceCache *c) { c->epoch++; }

void mem_device_cache_clean(MemDeviceCache *c) {
    for (uint32_t frame = 0; frame < c->frame_count; frame++) {
        if (c->frames[frame].dirty) {
            mem_device_cache_mark_clean(c, frame);
            c->frames[frame].mask = 0;
        }
    }
}

/* Allocates new memory, which costs nothing until it is used. */
void mem_device_cache_clear(MemDeviceCache *c) {
    c->pages_cleaned = c->pages_dirtied;
    mem_device_cache_destroy(c);
    create_empty(c);
}

static const char *check_set(const MemDeviceCache *c, uint32_t set) {
    for (uint32_t way = 0; way < c->ways; way++) {
        uint32_t frame = set * c->ways + way;
        const MemFrame *f = &c->frames[frame];

        if ((f->tag != 0) != (way < c->used[set])) {
            return "the pages of a set are in its first frames";
        }
        if (f->tag == 0 ? f->dirty : *find_link(c, mem_frame_page(f)) != frame + 1) {
            return "a page is in at most one frame of the device cache, and an empty frame is clean";
        }
        if (f->mask != 0 && !f->dirty) {
            return "a page that is valid in part only is dirty";
        }
        if (f->tag != 0 && set_of(c, mem_frame_page(f)) != set) {
            return "a page is in the set of its number";
        }
    }
    return NULL;
}

const char *mem_device_cache_check(const MemDeviceCache *c) {
    uint64_t dirty = 0;

    for (uint32_t set = 0; set < c->set_count; set++) {
        const char *broken = check_set(c, set);
        if (broken) {
            return broken;
        }
    }
    for (uint32_t frame = 0; frame < c->frame_count; frame++) {
        dirty += c->frames[frame].dirty;
    }
    return dirty + c->pages_cleaned == c->pages_dirtied ? NULL : "dirty pages + pages cleaned = pages dirtied";
}
