/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page prefetcher. It is told of each page that missed and of the first use of
 * each prefetched page, and returns the step to the pages to fetch. `next`: 1.
 * `stride`: the distance between the last two such pages of the same region, once
 * this distance has occurred twice in a row.
 */
#ifndef MODEL_PAGE_PREFETCH_H
#define MODEL_PAGE_PREFETCH_H

#include "../config/device.h"

#define MEM_PREFETCH_REGION_PAGES 1024u
#define MEM_PREFETCH_REGIONS 16u /* regions followed at once */

typedef struct MemPageRegion {
    uint64_t tag; /* number of the region + 1; 0: unused */
    uint64_t last_page;
    int64_t stride;
} MemPageRegion;

typedef struct MemPagePrefetcher {
    MemPageRegion regions[MEM_PREFETCH_REGIONS];
} MemPagePrefetcher;

/* The step from `page` to the pages to fetch, or 0 for no fetch. */
int64_t mem_prefetch_step(MemPagePrefetcher *p, MemPagePrefetch kind, uint64_t page);

#endif
