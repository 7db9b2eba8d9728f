/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pages to fetch before they are asked for. Told of each page that missed
 * and of each prefetched one at its first use, it names the step to the pages to
 * fetch: 1 for `next`; for `stride`, the distance between the last such pages of
 * the same region, once it has been the same twice.
 */
#ifndef MODEL_PAGE_PREFETCH_H
#define MODEL_PAGE_PREFETCH_H

#include "../config/device.h"

#define MEM_PREFETCH_REGION_PAGES 1024u
#define MEM_PREFETCH_REGIONS 16u /* followed at once */

typedef struct MemPageRegion {
    uint64_t tag; /* number of the region + 1; 0: unused */
    uint64_t last_page;
    int64_t stride;
} MemPageRegion;

typedef struct MemPagePrefetcher {
    MemPageRegion regions[MEM_PREFETCH_REGIONS];
} MemPagePrefetcher;

/* The step from `page` to the pages to fetch, or 0: none. */
int64_t mem_prefetch_step(MemPagePrefetcher *p, MemPagePrefetch kind, uint64_t page);

#endif
