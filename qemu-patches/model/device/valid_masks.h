/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which bytes of a page are valid, for the few pages of the device cache that are
 * only partly valid because they were written without being fetched. Masks come
 * from a pool of at most MEM_MASK_POOL_BYTES.
 */
#ifndef MODEL_VALID_MASKS_H
#define MODEL_VALID_MASKS_H

#include "../base/units.h"

#define MEM_MASK_POOL_BYTES (64u << 20)
#define MEM_NO_MASK 0u /* a page that is valid as a whole */

typedef struct MemValidMasks {
    uint32_t page_lines;
    uint32_t most;       /* most masks of the pool */
    uint32_t room;       /* number of masks with memory */
    uint32_t used;       /* number of masks ever in use: the first ones */
    uint32_t count;      /* number of masks in use */
    uint32_t free;       /* the mask freed last, head of the free list */
    uint64_t *lines;     /* page_lines words of each mask, one bit a byte */
    uint32_t *missing;   /* invalid bytes of each mask */
    uint32_t *free_next; /* next free mask after each free mask */
} MemValidMasks;

void mem_masks_init(MemValidMasks *m, uint32_t page_lines);
void mem_masks_destroy(MemValidMasks *m);
/* Free all masks. */
void mem_masks_clear(MemValidMasks *m);

/* Take a mask without valid bytes; MEM_NO_MASK if the pool is used up. */
uint32_t mem_masks_take(MemValidMasks *m);
void mem_masks_free(MemValidMasks *m, uint32_t mask);
/* Bytes of a line of the page become valid; returns whether the whole page is valid now. */
bool mem_masks_add(MemValidMasks *m, uint32_t mask, uint32_t line, uint64_t bytes);

static inline uint32_t mem_masks_count(const MemValidMasks *m) { return m->count; }

static inline uint64_t mem_masks_line(const MemValidMasks *m, uint32_t mask, uint32_t line) {
    return m->lines[(size_t)(mask - 1) * m->page_lines + line];
}

#endif
