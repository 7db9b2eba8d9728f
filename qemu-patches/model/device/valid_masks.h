/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which bytes of a page are valid, for the few pages of the device cache that
 * are not valid as a whole: those that were written without being fetched.
 * Masks come from a pool of at most MEM_MASK_POOL_BYTES.
 */
#ifndef MODEL_VALID_MASKS_H
#define MODEL_VALID_MASKS_H

#include "../base/units.h"

#define MEM_MASK_POOL_BYTES (64u << 20)
#define MEM_NO_MASK 0u /* a page that is valid as a whole */

typedef struct MemValidMasks {
    uint32_t page_lines;
    uint32_t most;       /* masks there can be */
    uint32_t room;       /* masks there is memory for */
    uint32_t used;       /* masks ever in use, the first so many */
    uint32_t count;      /* masks in use */
    uint32_t free;       /* the mask freed last */
    uint64_t *lines;     /* page_lines of each mask, a bit a byte */
    uint32_t *missing;   /* bytes of each mask that are not valid */
    uint32_t *free_next; /* of each free mask */
} MemValidMasks;

void mem_masks_init(MemValidMasks *m, uint32_t page_lines);
void mem_masks_destroy(MemValidMasks *m);
/* All masks are free. */
void mem_masks_clear(MemValidMasks *m);

/* A mask without a valid byte, or MEM_NO_MASK if there is none left. */
uint32_t mem_masks_take(MemValidMasks *m);
void mem_masks_free(MemValidMasks *m, uint32_t mask);
/* These bytes of a line of the page are valid now; whether all of the page are. */
bool mem_masks_add(MemValidMasks *m, uint32_t mask, uint32_t line, uint64_t bytes);

static inline uint32_t mem_masks_count(const MemValidMasks *m) { return m->count; }

static inline uint64_t mem_masks_line(const MemValidMasks *m, uint32_t mask, uint32_t line) {
    return m->lines[(size_t)(mask - 1) * m->page_lines + line];
}

#endif
