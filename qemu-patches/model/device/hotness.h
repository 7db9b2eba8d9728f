/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often the host has read and written each page of a device. Only requests that reach the device count, not hits of
 * the CPU's caches. The counts are exact, one for each page, where hardware has a table of some pages. Untouched pages
 * cost nothing.
 */
#ifndef MODEL_HOTNESS_H
#define MODEL_HOTNESS_H

#include "../base/units.h"

#define MEM_HOT_PAGE_BYTES 4096u
#define MEM_HOT_PAGE_LINES (MEM_HOT_PAGE_BYTES / MEMSYS_LINE_BYTES)
#define MEM_HOT_LEAF_PAGES 512u

typedef struct MemHotPage {
    uint64_t dpa;
    uint64_t reads; /* in lines */
    uint64_t writes;
} MemHotPage;

typedef struct MemHotCounts {
    uint32_t reads[MEM_HOT_LEAF_PAGES];
    uint32_t writes[MEM_HOT_LEAF_PAGES];
} MemHotCounts;

typedef struct MemHotness {
    MemHotCounts **leaves; /* NULL: nothing is counted */
    uint64_t leaf_count;
} MemHotness;

void mem_hotness_init(MemHotness *h, uint64_t capacity_bytes);
void mem_hotness_destroy(MemHotness *h);
/* Set all counts to zero. */
void mem_hotness_clear(MemHotness *h);
MemHotCounts *mem_hotness_leaf(MemHotness *h, uint64_t leaf);

/* The host reads or writes a line. A count stays at its maximum. */
static inline void mem_hotness_count(MemHotness *h, uint64_t line, bool write) {
    if (h->leaves) {
        uint64_t page = line / MEM_HOT_PAGE_LINES;
        MemHotCounts *leaf = h->leaves[page / MEM_HOT_LEAF_PAGES];
        leaf = leaf ? leaf : mem_hotness_leaf(h, page / MEM_HOT_LEAF_PAGES);
        uint32_t *count = &(write ? leaf->writes : leaf->reads)[page % MEM_HOT_LEAF_PAGES];
        *count += *count != UINT32_MAX;
    }
}

/* The hottest pages, by reads plus writes; among equals, the lower page first. Returns their number, at most `most`. */
uint32_t mem_hotness_top(const MemHotness *h, MemHotPage *pages, uint32_t most);

#endif
