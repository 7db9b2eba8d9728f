/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "setassoc.h"

#include <stdlib.h>
#include <string.h>

#include "mem_alloc.h"

static const MemVictim nothing = {.line = MEM_NO_LINE, .dirty = false};

static void init_sets(MemSets *s, const MemCacheConfig *config) {
    s->ways = config->ways;
    s->count = config->size_bytes / MEMSYS_LINE_BYTES / config->ways;
    s->power_of_two = (s->count & (s->count - 1)) == 0;
    s->shift = (unsigned)__builtin_ctzll(s->count);
    s->magic = UINT64_MAX / s->count + 1; /* exact for lines below 2^64 / count; unused for powers of two */
}

static size_t tag_count(const MemSets *s) { return (size_t)s->count * s->ways; }

static MemTag *new_tags(const MemSets *s) { return mem_calloc(tag_count(s), sizeof(MemTag)); }

static void clear_tags(MemTag *tags, const MemSets *s) {
    for (size_t i = 0; i < tag_count(s); i++) {
        tags[i] = MEM_TAG_NONE;
    }
}

static MemVictim victim_of(const MemSets *s, size_t first, MemTag tag) {
    return tag == MEM_TAG_NONE ? nothing : (MemVictim){.line = mem_line_at(s, first, tag), .dirty = mem_tag_dirty(tag)};
}

void mem_fifo_init(MemFifoArray *a, const MemCacheConfig *config) {
    init_sets(&a->sets, config);
    a->tags = new_tags(&a->sets);
    a->filled = mem_calloc(tag_count(&a->sets), sizeof(*a->filled));
    a->fills = 0;
    mem_fifo_clear(a);
}

void mem_fifo_destroy(MemFifoArray *a) {
    free(a->tags);
    free(a->filled);
}

uint32_t mem_fifo_slots(const MemFifoArray *a) { return (uint32_t)tag_count(&a->sets); }

MemVictim mem_fifo_put(MemFifoArray *a, uint64_t line, bool dirty, uint32_t *slot) {
    MemPlace place = mem_place_of(&a->sets, line);
    uint32_t first = (uint32_t)place.first;
    uint32_t oldest = first;
    uint64_t oldest_fill = a->filled[first];

    for (uint32_t s = first + 1; s < first + a->sets.ways; s++) { /* no branches: which slot wins is not predictable */
        uint64_t fill = a->filled[s];
        oldest = fill < oldest_fill ? s : oldest;
        oldest_fill = fill < oldest_fill ? fill : oldest_fill;
    }
    MemVictim victim = victim_of(&a->sets, first, a->tags[oldest]);
    a->tags[oldest] = place.tag | (dirty ? MEM_TAG_DIRTY : 0);
    a->filled[oldest] = ++a->fills;
    *slot = oldest;
    return victim;
}

void mem_fifo_drop(MemFifoArray *a, uint32_t slot) {
    a->tags[slot] = MEM_TAG_NONE;
    a->filled[slot] = 0;
}

void mem_fifo_clear(MemFifoArray *a) {
    clear_tags(a->tags, &a->sets);
    memset(a->filled, 0, tag_count(&a->sets) * sizeof(*a->filled));
}

void mem_lru_init(MemLruArray *a, const MemCacheConfig *config) {
    init_sets(&a->sets, config);
    a->tags = new_tags(&a->sets);
    mem_lru_clear(a);
}

void mem_lru_destroy(MemLruArray *a) { free(a->tags); }

size_t mem_lru_lines(const MemLruArray *a) { return tag_count(&a->sets); }

void mem_lru_clear(MemLruArray *a) { clear_tags(a->tags, &a->sets); }

/* Open the front of a set by moving the tags before `way` over the one there. */
static void put_front(MemTag *set, uint32_t way, MemTag tag) {
    memmove(set + 1, set, way * sizeof(*set));
    set[0] = tag;
}

bool mem_lru_hit(MemLruArray *a, uint64_t line, MemTag *flags) {
    MemPlace place = mem_place_of(&a->sets, line);
    MemTag *set = a->tags + place.first;
    uint32_t way = mem_way_of(set, a->sets.ways, place.tag);

    if (way == a->sets.ways) {
        return false;
    }
    *flags = set[way] & MEM_TAG_FLAGS;
    put_front(set, way, place.tag);
    return true;
}

MemVictim mem_lru_fill(MemLruArray *a, uint64_t line, MemTag flags) {
    MemPlace place = mem_place_of(&a->sets, line);
    MemTag *set = a->tags + place.first;
    MemVictim victim = victim_of(&a->sets, place.first, set[a->sets.ways - 1]);

    put_front(set, a->sets.ways - 1, place.tag | flags);
    return victim;
}

MemVictim mem_lru_put(MemLruArray *a, uint64_t line, bool dirty) {
    MemPlace place = mem_place_of(&a->sets, line);
    MemTag *set = a->tags + place.first;
    uint32_t way = mem_way_of(set, a->sets.ways, place.tag);
    MemTag tag = place.tag | (dirty ? MEM_TAG_DIRTY : 0);
    MemVictim victim = nothing;

    if (way < a->sets.ways) {
        tag |= set[way] & MEM_TAG_DIRTY;
    } else {
        way = a->sets.ways - 1;
        victim = victim_of(&a->sets, place.first, set[way]);
    }
    put_front(set, way, tag);
    return victim;
}

bool mem_lru_clean(MemLruArray *a, uint64_t line) {
    MemPlace place = mem_place_of(&a->sets, line);
    MemTag *set = a->tags + place.first;
    uint32_t way = mem_way_of(set, a->sets.ways, place.tag);

    if (way == a->sets.ways || !mem_tag_dirty(set[way])) {
        return false;
    }
    set[way] &= ~MEM_TAG_DIRTY;
    return true;
}

bool mem_lru_drop(MemLruArray *a, uint64_t line) {
    MemPlace place = mem_place_of(&a->sets, line);
    MemTag *set = a->tags + place.first;
    uint32_t way = mem_way_of(set, a->sets.ways, place.tag);

    if (way == a->sets.ways) {
        return false;
    }
    bool dirty = mem_tag_dirty(set[way]);
    for (; way + 1 < a->sets.ways; way++) {
        set[way] = set[way + 1];
    }
    set[a->sets.ways - 1] = MEM_TAG_NONE;
    return dirty;
}

bool mem_lru_has(const MemLruArray *a, uint64_t line) {
    MemPlace place = mem_place_of(&a->sets, line);
    return mem_way_of(a->tags + place.first, a->sets.ways, place.tag) < a->sets.ways;
}
