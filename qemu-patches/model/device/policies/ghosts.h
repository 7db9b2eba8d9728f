/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages that left a set not long ago, in the order they did: only their numbers, at most so many of each set. */
#ifndef MODEL_GHOSTS_H
#define MODEL_GHOSTS_H

#include <stdbool.h>

#include "frame_list.h"

typedef struct MemGhosts {
    uint32_t room; /* of each set; its entries are set * room and on */
    unsigned bucket_shift;
    uint64_t *pages;
    uint32_t *hash_next; /* entry + 1 */
    uint32_t *buckets;   /* entry + 1 */
    MemFrameLinks *links;
    MemFrameList *kept;  /* of each set, by age */
    MemFrameList *spare; /* of each set: used before and free again */
    uint32_t *used;      /* of each set: entries used so far */
} MemGhosts;

void mem_ghosts_init(MemGhosts *g, uint32_t sets, uint32_t room);
void mem_ghosts_destroy(MemGhosts *g);

/* Remember an absent page; the oldest is forgotten if there is no room. */
void mem_ghosts_add(MemGhosts *g, uint32_t set, uint64_t page);
/* Whether the page is remembered. If so, it is not from now on. */
bool mem_ghosts_take(MemGhosts *g, uint32_t set, uint64_t page);

#endif
