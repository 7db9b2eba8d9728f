/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tag arrays of the CPU caches. A tag is what tells a line from the others of
 * its set, a dirty bit and a prefetched bit; no bytes are kept. Two kinds,
 * because the L1 hands out stable slots and must not care about hits (FIFO),
 * while L2 and LLC keep each set in order of use (LRU). The number of sets need
 * not be a power of two. Tags have 32 bits: the arrays of a large LLC are what
 * the model's own speed depends on.
 */
#ifndef MODEL_SETASSOC_H
#define MODEL_SETASSOC_H

#include <assert.h>
#include <string.h>

#include "memsys.h"

typedef uint32_t MemTag;

#define MEM_TAG_DIRTY (UINT32_C(1) << 31)
#define MEM_TAG_PREFETCHED (UINT32_C(1) << 30) /* not used yet */
#define MEM_TAG_FLAGS (MEM_TAG_DIRTY | MEM_TAG_PREFETCHED)
#define MEM_TAG_NONE (~MEM_TAG_FLAGS) /* no line: clean, and no line's tag */

#define MEM_NO_LINE UINT64_MAX

static inline MemTag mem_tag_plain(MemTag tag) { return tag & ~MEM_TAG_FLAGS; }
static inline bool mem_tag_dirty(MemTag tag) { return (tag & MEM_TAG_DIRTY) != 0; }
static inline bool mem_tag_prefetched(MemTag tag) { return (tag & MEM_TAG_PREFETCHED) != 0; }

/* How lines spread over sets. */
typedef struct MemSets {
    uint64_t magic; /* 2^64 / count, rounded up: a multiplication in place of the division */
    uint64_t count;
    uint32_t ways;
    unsigned shift; /* log2 of count, if it is a power of two */
    bool power_of_two;
} MemSets;

typedef struct MemPlace {
    size_t first; /* of the set, in the array of tags */
    MemTag tag;
} MemPlace;

static inline MemPlace mem_place_of(const MemSets *s, uint64_t line) {
    uint64_t tag = s->power_of_two ? line >> s->shift : (uint64_t)(((unsigned __int128)line * s->magic) >> 64);
    assert(tag < MEM_TAG_NONE); /* memsys_check_cpu() and the size of an address space see to it */
    return (MemPlace){.first = (size_t)(line - tag * s->count) * s->ways, .tag = (MemTag)tag};
}

/* The line of a tag in the set of `slot`. */
static inline uint64_t mem_line_at(const MemSets *s, size_t slot, MemTag tag) {
    return (uint64_t)mem_tag_plain(tag) * s->count + slot / s->ways;
}

/* Four tags at a time: every miss of the host looks at every tag of three sets. */
typedef MemTag MemTags4 __attribute__((vector_size(16), aligned(4), may_alias));

/* The way of a tag, whatever its flags, or `ways`. */
static inline uint32_t mem_way_of(const MemTag *set, uint32_t ways, MemTag tag) {
    uint32_t way = 0;

    for (; way + 4 <= ways; way += 4) {
        uint64_t equal[2];
        MemTags4 same = (MemTags4)((*(const MemTags4 *)(set + way) & ~MEM_TAG_FLAGS) == tag);
        memcpy(equal, &same, sizeof(equal));
        if (equal[0] | equal[1]) {
            break;
        }
    }
    while (way < ways && mem_tag_plain(set[way]) != tag) {
        way++;
    }
    return way;
}

/* What an array pushed out: a line, or MEM_NO_LINE. */
typedef struct MemVictim {
    uint64_t line;
    bool dirty;
} MemVictim;

/* First in, first out. slot = set * ways + way. */
typedef struct MemFifoArray {
    MemTag *tags;
    uint64_t *filled; /* when the slot was filled, by `fills`; 0 for an empty slot */
    uint64_t fills;
    MemSets sets;
} MemFifoArray;

void mem_fifo_init(MemFifoArray *a, const MemCacheConfig *config);
void mem_fifo_destroy(MemFifoArray *a);
uint32_t mem_fifo_slots(const MemFifoArray *a);

/* Put an absent line into an empty slot of its set, else the one filled first; returns what was there. */
MemVictim mem_fifo_put(MemFifoArray *a, uint64_t line, bool dirty, uint32_t *slot);
void mem_fifo_drop(MemFifoArray *a, uint32_t slot);
void mem_fifo_clear(MemFifoArray *a);

/* The slot of a line or MEM_NO_SLOT. Inline: the hot path of every access. */
static inline uint32_t mem_fifo_find(const MemFifoArray *a, uint64_t line) {
    MemPlace place = mem_place_of(&a->sets, line);
    uint32_t way = mem_way_of(a->tags + place.first, a->sets.ways, place.tag);
    return way < a->sets.ways ? (uint32_t)place.first + way : MEM_NO_SLOT;
}

/* Least recently used. Each set's tags stand in order of use, the newest first, empty ones last. */
typedef struct MemLruArray {
    MemTag *tags;
    MemSets sets;
} MemLruArray;

void mem_lru_init(MemLruArray *a, const MemCacheConfig *config);
void mem_lru_destroy(MemLruArray *a);
size_t mem_lru_lines(const MemLruArray *a);

/* A hit moves the line to the front, plain; `*flags` is what it carried. */
bool mem_lru_hit(MemLruArray *a, uint64_t line, MemTag *flags);
/* Put a line that is known to be absent in front, with these flags; returns what was pushed out. */
MemVictim mem_lru_fill(MemLruArray *a, uint64_t line, MemTag flags);
/* Put a line in front, dirty if it was or is to be; returns what was pushed out. */
MemVictim mem_lru_put(MemLruArray *a, uint64_t line, bool dirty);
/* Clear the dirty bit where the line stands; returns what it was. */
bool mem_lru_clean(MemLruArray *a, uint64_t line);
/* Remove the line; returns whether it was dirty. */
bool mem_lru_drop(MemLruArray *a, uint64_t line);
bool mem_lru_has(const MemLruArray *a, uint64_t line);
void mem_lru_clear(MemLruArray *a);

#endif
