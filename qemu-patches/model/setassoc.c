/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "setassoc.h"

#include <stdlib.h>
#include <string.h>

#include "mem_alloc.h"

static size_t config_sets(const MemCacheConfig *config) {
    return config->size_bytes / MEMSYS_LINE_BYTES / config->ways;
}

static void fill_empty(uint64_t *tags, size_t count) {
    for (size_t i = 0; i < count; i++) {
        tags[i] = MEM_TAG_NONE;
    }
}

void mem_fifo_init(MemFifoArray *a, const MemCacheConfig *config) {
    size_t sets = config_sets(config);
    size_t slots = sets * config->ways;

    a->tags = mem_calloc(slots, sizeof(*a->tags));
    a->filled = mem_calloc(slots, sizeof(*a->filled));
    a->fills = 0;
    a->set_mask = sets - 1;
    a->ways = config->ways;
    fill_empty(a->tags, slots);
}

void mem_fifo_destroy(MemFifoArray *a) {
    free(a->tags);
    free(a->filled);
}

uint32_t mem_fifo_slots(const MemFifoArray *a) { return (uint32_t)(a->set_mask + 1) * a->ways; }

uint64_t mem_fifo_put(MemFifoArray *a, uint64_t line, bool dirty, uint32_t *slot) {
    uint32_t first = (uint32_t)(line & a->set_mask) * a->ways;
    uint32_t oldest = first;
    uint64_t oldest_fill = a->filled[first];

    for (uint32_t s = first + 1; s < first + a->ways; s++) { /* no branches: which slot wins is not predictable */
        uint64_t fill = a->filled[s];
        oldest = fill < oldest_fill ? s : oldest;
        oldest_fill = fill < oldest_fill ? fill : oldest_fill;
    }
    uint64_t victim = a->tags[oldest];
    a->tags[oldest] = line | (dirty ? MEM_TAG_DIRTY : 0);
    a->filled[oldest] = ++a->fills;
    *slot = oldest;
    return victim;
}

void mem_fifo_drop(MemFifoArray *a, uint32_t slot) {
    a->tags[slot] = MEM_TAG_NONE;
    a->filled[slot] = 0;
}

void mem_fifo_clear(MemFifoArray *a) {
    fill_empty(a->tags, mem_fifo_slots(a));
    memset(a->filled, 0, mem_fifo_slots(a) * sizeof(*a->filled));
}

void mem_lru_init(MemLruArray *a, const MemCacheConfig *config) {
    size_t sets = config_sets(config);

    a->tags = mem_calloc(sets * config->ways, sizeof(*a->tags));
    a->set_mask = sets - 1;
    a->ways = config->ways;
    fill_empty(a->tags, sets * config->ways);
}

void mem_lru_destroy(MemLruArray *a) { free(a->tags); }

size_t mem_lru_lines(const MemLruArray *a) { return (size_t)(a->set_mask + 1) * a->ways; }

void mem_lru_clear(MemLruArray *a) { fill_empty(a->tags, mem_lru_lines(a)); }

static uint64_t *set_of(const MemLruArray *a, uint64_t line) {
    return a->tags + (size_t)(line & a->set_mask) * a->ways;
}

/* The way of a line, or `ways` if it is not there. */
static uint32_t way_of(const MemLruArray *a, const uint64_t *set, uint64_t line) {
    uint32_t way = 0;
    while (way < a->ways && mem_tag_line(set[way]) != line) {
        way++;
    }
    return way;
}

/* Open the front of a set by moving the tags before `way` over the one there. */
static void put_front(uint64_t *set, uint32_t way, uint64_t tag) {
    memmove(set + 1, set, way * sizeof(*set));
    set[0] = tag;
}

bool mem_lru_hit(MemLruArray *a, uint64_t line, bool *dirty) {
    uint64_t *set = set_of(a, line);
    uint32_t way = way_of(a, set, line);

    if (way == a->ways) {
        return false;
    }
    *dirty = mem_tag_dirty(set[way]);
    put_front(set, way, line);
    return true;
}

uint64_t mem_lru_fill(MemLruArray *a, uint64_t line) {
    uint64_t *set = set_of(a, line);
    uint64_t victim = set[a->ways - 1];

    put_front(set, a->ways - 1, line);
    return victim;
}

uint64_t mem_lru_put(MemLruArray *a, uint64_t line, bool dirty) {
    uint64_t *set = set_of(a, line);
    uint32_t way = way_of(a, set, line);
    uint64_t tag = line | (dirty ? MEM_TAG_DIRTY : 0);
    uint64_t victim = MEM_TAG_NONE;

    if (way < a->ways) {
        tag |= set[way];
    } else {
        way = a->ways - 1;
        victim = set[way];
    }
    put_front(set, way, tag);
    return victim;
}

bool mem_lru_clean(MemLruArray *a, uint64_t line) {
    uint64_t *set = set_of(a, line);
    uint32_t way = way_of(a, set, line);

    if (way == a->ways || !mem_tag_dirty(set[way])) {
        return false;
    }
    set[way] = line;
    return true;
}

bool mem_lru_drop(MemLruArray *a, uint64_t line) {
    uint64_t *set = set_of(a, line);
    uint32_t way = way_of(a, set, line);

    if (way == a->ways) {
        return false;
    }
    bool dirty = mem_tag_dirty(set[way]);
    for (; way + 1 < a->ways; way++) {
        set[way] = set[way + 1];
    }
    set[a->ways - 1] = MEM_TAG_NONE;
    return dirty;
}

bool mem_lru_has(const MemLruArray *a, uint64_t line) { return way_of(a, set_of(a, line), line) < a->ways; }
