/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tag arrays of the CPU caches. A tag is a line number and a dirty bit; no bytes
 * are kept. Two kinds, because the L1 hands out stable slots and must not care
 * about hits (FIFO), while L2 and LLC keep each set in order of use (LRU).
 */
#ifndef MODEL_SETASSOC_H
#define MODEL_SETASSOC_H

#include "memsys.h"

#define MEM_TAG_DIRTY (UINT64_C(1) << 63)
#define MEM_TAG_NONE (~MEM_TAG_DIRTY) /* no line: clean, and not a line number */

static inline uint64_t mem_tag_line(uint64_t tag) { return tag & ~MEM_TAG_DIRTY; }

static inline bool mem_tag_dirty(uint64_t tag) { return (tag & MEM_TAG_DIRTY) != 0; }

/* First in, first out. slot = set * ways + way. */
typedef struct MemFifoArray {
    uint64_t *tags;
    uint64_t *filled; /* when the slot was filled, by `fills`; 0 for an empty slot */
    uint64_t fills;
    uint64_t set_mask;
    uint32_t ways;
} MemFifoArray;

void mem_fifo_init(MemFifoArray *a, const MemCacheConfig *config);
void mem_fifo_destroy(MemFifoArray *a);
uint32_t mem_fifo_slots(const MemFifoArray *a);

/* Put an absent line into an empty slot of its set, else the one filled first; returns what was there. */
uint64_t mem_fifo_put(MemFifoArray *a, uint64_t line, bool dirty, uint32_t *slot);
void mem_fifo_drop(MemFifoArray *a, uint32_t slot);

/* The slot of a line or MEM_NO_SLOT. Inline: the hot path of every access. */
static inline uint32_t mem_fifo_find(const MemFifoArray *a, uint64_t line) {
    uint32_t first = (uint32_t)(line & a->set_mask) * a->ways;
    for (uint32_t way = 0; way < a->ways; way++) {
        if (mem_tag_line(a->tags[first + way]) == line) {
            return first + way;
        }
    }
    return MEM_NO_SLOT;
}

/* Least recently used. Each set's tags stand in order of use, the newest first, empty ones last. */
typedef struct MemLruArray {
    uint64_t *tags;
    uint64_t set_mask;
    uint32_t ways;
} MemLruArray;

void mem_lru_init(MemLruArray *a, const MemCacheConfig *config);
void mem_lru_destroy(MemLruArray *a);
size_t mem_lru_lines(const MemLruArray *a);

/* A hit moves the line to the front and its dirty bit, if any, out to `*dirty`. */
bool mem_lru_hit(MemLruArray *a, uint64_t line, bool *dirty);
/* Put a clean line that is known to be absent in front; returns the tag pushed out, or MEM_TAG_NONE. */
uint64_t mem_lru_fill(MemLruArray *a, uint64_t line);
/* Put a line in front, dirty if it was or is to be; returns the tag pushed out, or MEM_TAG_NONE. */
uint64_t mem_lru_put(MemLruArray *a, uint64_t line, bool dirty);
/* Clear the dirty bit where the line stands; returns what it was. */
bool mem_lru_clean(MemLruArray *a, uint64_t line);
/* Remove the line; returns whether it was dirty. */
bool mem_lru_drop(MemLruArray *a, uint64_t line);
bool mem_lru_has(const MemLruArray *a, uint64_t line);

/* Empty a whole array. */
void mem_fifo_clear(MemFifoArray *a);
void mem_lru_clear(MemLruArray *a);

#endif
