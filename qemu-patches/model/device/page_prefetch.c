/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page_prefetch.h"

static int64_t stride_of(MemPagePrefetcher *p, uint64_t page) {
    uint64_t region = page / MEM_PREFETCH_REGION_PAGES;
    MemPageRegion *r = &p->regions[region % MEM_PREFETCH_REGIONS];

    if (r->tag != region + 1) {
        *r = (MemPageRegion){.tag = region + 1, .last_page = page};
        return 0;
    }
    int64_t stride = (int64_t)(page - r->last_page);
    bool steady = stride == r->stride;

    r->stride = stride;
    r->last_page = page;
    return steady ? stride : 0;
}

int64_t mem_prefetch_step(MemPagePrefetcher *p, MemPagePrefetch kind, uint64_t page) {
    switch (kind) {
    case MEM_PREFETCH_NEXT:
        return 1;
    case MEM_PREFETCH_STRIDE:
        return stride_of(p, page);
    default:
        return 0;
    }
}
