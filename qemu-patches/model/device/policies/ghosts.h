/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of the pages that left a set recently, in the order of leaving, limited for each set. */
#ifndef MODEL_GHOSTS_H
#define MODEL_GHOSTS_H

#include <stdbool.h>

#include "frame_list.h"

typedef struct MemGhosts {
    uint32_t room; /* entries of a set; set s has the entries from s * room on */
    unsigned bucket_shift;
    uint64_t *pages;
    uint32_t *hash_next; /* entry + 1 */
    uint32_t *buckets;   /* entry + 1 */
    MemFrameLinks *links;
    MemFrameList *kept;  /* for each set, the remembered entries by age */
    MemFrameList *spare; /* for each set, the entries used before and free again */
    uint32_t *used;      /* for each set, the number of entries used so far */
} MemGhosts;

void mem_ghosts_init(MemGhosts *g, uint32_t sets, uint32_t room);
void mem_ghosts_destroy(MemGhosts *g);

/* Remember an absent page; a set without room forgets its oldest page. */
void mem_ghosts_add(MemGhosts *g, uint32_t set, uint64_t page);
/* Whether the page is remembered; if so, forget it. */
bool mem_ghosts_take(MemGhosts *g, uint32_t set, uint64_t page);

#endif
