/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "device_cache.h"

#include <stdlib.h>

#include "mem_alloc.h"
#include "mem_hash.h"

static uint32_t *bucket_of(const MemDeviceCache *c, uint64_t page) {
    return &c->buckets[mem_hash(page, c->bucket_shift)];
}

static size_t bucket_count(const MemDeviceCache *c) { return (size_t)1 << (64 - c->bucket_shift); }

static MemUseOrder *set_of(const MemDeviceCache *c, uint32_t frame) { return &c->sets[frame / c->ways]; }

static void unlink_use(MemDeviceCache *c, MemUseOrder *set, uint32_t frame) {
    MemFrame *f = &c->frames[frame];

    if (f->newer != MEM_NO_FRAME) {
        c->frames[f->newer].older = f->older;
    } else {
        set->newest = f->older;
    }
    if (f->older != MEM_NO_FRAME) {
        c->frames[f->older].newer = f->newer;
    } else {
        set->oldest = f->newer;
    }
}

static void link_newest(MemDeviceCache *c, MemUseOrder *set, uint32_t frame) {
    MemFrame *f = &c->frames[frame];

    f->newer = MEM_NO_FRAME;
    f->older = set->newest;
    if (set->newest != MEM_NO_FRAME) {
        c->frames[set->newest].newer = frame;
    } else {
        set->oldest = frame;
    }
    set->newest = frame;
}

static void empty_all(MemDeviceCache *c) {
    for (size_t i = 0; i < bucket_count(c); i++) {
        c->buckets[i] = MEM_NO_FRAME;
    }
    for (uint32_t set = 0; set <= c->set_mask; set++) {
        c->sets[set] = (MemUseOrder){.newest = MEM_NO_FRAME, .oldest = MEM_NO_FRAME};
    }
    for (uint32_t frame = 0; frame < c->frame_count; frame++) {
        c->frames[frame] = (MemFrame){.page = MEM_NO_PAGE};
        link_newest(c, set_of(c, frame), frame);
    }
}

void mem_device_cache_init(MemDeviceCache *c, const MemDeviceConfig *config) {
    c->frame_count = (uint32_t)(config->cache_size_bytes / config->cache_page_bytes);
    c->ways = config->cache_ways ? config->cache_ways : c->frame_count;
    c->set_mask = c->frame_count / c->ways - 1;
    c->bucket_shift = mem_hash_shift(c->frame_count);
    c->frames = mem_calloc(c->frame_count, sizeof(*c->frames));
    c->sets = mem_calloc(c->set_mask + 1, sizeof(*c->sets));
    c->buckets = mem_calloc(bucket_count(c), sizeof(*c->buckets));
    c->pages_dirtied = 0;
    c->pages_cleaned = 0;
    empty_all(c);
}

void mem_device_cache_destroy(MemDeviceCache *c) {
    free(c->frames);
    free(c->sets);
    free(c->buckets);
}

uint32_t mem_device_cache_find(const MemDeviceCache *c, uint64_t page) {
    uint32_t frame = *bucket_of(c, page);
    while (frame != MEM_NO_FRAME && c->frames[frame].page != page) {
        frame = c->frames[frame].hash_next;
    }
    return frame;
}

void mem_device_cache_use(MemDeviceCache *c, uint32_t frame) {
    MemUseOrder *set = set_of(c, frame);
    if (set->newest != frame) {
        unlink_use(c, set, frame);
        link_newest(c, set, frame);
    }
}

uint32_t mem_device_cache_victim(const MemDeviceCache *c, uint64_t page) { return c->sets[page & c->set_mask].oldest; }

static void unlink_hash(MemDeviceCache *c, uint32_t frame) {
    uint32_t *link = bucket_of(c, c->frames[frame].page);
    while (*link != frame) {
        link = &c->frames[*link].hash_next;
    }
    *link = c->frames[frame].hash_next;
}

void mem_device_cache_replace(MemDeviceCache *c, uint32_t frame, uint64_t page) {
    MemFrame *f = &c->frames[frame];

    if (f->page != MEM_NO_PAGE) {
        unlink_hash(c, frame);
    }
    c->pages_cleaned += f->dirty;
    f->dirty = false;
    f->page = page;
    uint32_t *bucket = bucket_of(c, page);
    f->hash_next = *bucket;
    *bucket = frame;
    mem_device_cache_use(c, frame);
}

void mem_device_cache_mark_dirty(MemDeviceCache *c, uint32_t frame) {
    c->pages_dirtied += !c->frames[frame].dirty;
    c->frames[frame].dirty = true;
}

void mem_device_cache_settle(MemDeviceCache *c) {
    for (uint32_t frame = 0; frame < c->frame_count; frame++) {
        c->frames[frame].filled_ps = 0;
        c->frames[frame].settled_ps = 0;
    }
}

void mem_device_cache_clean(MemDeviceCache *c) {
    for (uint32_t frame = 0; frame < c->frame_count; frame++) {
        c->pages_cleaned += c->frames[frame].dirty;
        c->frames[frame].dirty = false;
    }
}

void mem_device_cache_clear(MemDeviceCache *c) {
    mem_device_cache_clean(c);
    empty_all(c);
}

/* Frames in a set's list from newest to oldest, or `ways` + 1 if it is not a sound list of the set's frames. */
static uint32_t sound_list_length(const MemDeviceCache *c, uint32_t set) {
    uint32_t length = 0;
    uint32_t newer = MEM_NO_FRAME;
    uint32_t frame = c->sets[set].newest;

    while (frame != MEM_NO_FRAME && length <= c->ways) {
        if (frame / c->ways != set || c->frames[frame].newer != newer) {
            return c->ways + 1;
        }
        newer = frame;
        frame = c->frames[frame].older;
        length++;
    }
    return newer == c->sets[set].oldest ? length : c->ways + 1;
}

const char *mem_device_cache_check(const MemDeviceCache *c) {
    uint64_t dirty = 0;

    for (uint32_t set = 0; set <= c->set_mask; set++) {
        if (sound_list_length(c, set) != c->ways) {
            return "each set's order of use names each of its frames once";
        }
    }
    for (uint32_t frame = 0; frame < c->frame_count; frame++) {
        const MemFrame *f = &c->frames[frame];
        dirty += f->dirty;
        if (f->page == MEM_NO_PAGE ? f->dirty : mem_device_cache_find(c, f->page) != frame) {
            return "a page is in at most one frame of the device cache, and an empty frame is clean";
        }
    }
    if (dirty + c->pages_cleaned != c->pages_dirtied) {
        return "dirty pages + pages cleaned = pages dirtied";
    }
    return NULL;
}
