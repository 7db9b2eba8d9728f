/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hotness.h"

#include <stdlib.h>

#include "../base/mem_alloc.h"

void mem_hotness_init(MemHotness *h, uint64_t capacity_bytes) {
    uint64_t leaf_bytes = (uint64_t)MEM_HOT_LEAF_PAGES * MEM_HOT_PAGE_BYTES;

    h->leaf_count = capacity_bytes / leaf_bytes + (capacity_bytes % leaf_bytes != 0);
    h->leaves = mem_calloc(h->leaf_count, sizeof(*h->leaves));
}

void mem_hotness_clear(MemHotness *h) {
    for (uint64_t i = 0; h->leaves && i < h->leaf_count; i++) {
        free(h->leaves[i]);
        h->leaves[i] = NULL;
    }
}

void mem_hotness_destroy(MemHotness *h) {
    mem_hotness_clear(h);
    free(h->leaves);
}

MemHotCounts *mem_hotness_leaf(MemHotness *h, uint64_t leaf) {
    h->leaves[leaf] = mem_calloc(1, sizeof(**h->leaves));
    return h->leaves[leaf];
}

static bool is_hotter(const MemHotPage *a, const MemHotPage *b) {
    uint64_t of_a = a->reads + a->writes;
    uint64_t of_b = b->reads + b->writes;

    return of_a != of_b ? of_a > of_b : a->dpa < b->dpa;
}

/* A heap with the least hot page on top: move an entry down to its place. */
static void sink(MemHotPage *heap, uint32_t count, uint32_t at) {
    for (;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
            least = is_hotter(&heap[least], &heap[child]) ? child : least;
        }
        if (least == at) {
            return;
        }
        MemHotPage page = heap[at];
        heap[at] = heap[least];
        heap[least] = page;
        at = least;
    }
}

static uint32_t offer(MemHotPage *heap, uint32_t count, uint32_t most, const MemHotPage *page) {
    if (count < most) {
        heap[count++] = *page;
        for (uint32_t i = count == most ? most / 2 : 0; i-- > 0;) { /* it becomes a heap when it is full */
            sink(heap, count, i);
        }
    } else if (most && is_hotter(page, &heap[0])) {
        heap[0] = *page;
        sink(heap, count, 0);
    }
    return count;
}

static int by_heat(const void *a, const void *b) { return is_hotter(a, b) ? -1 : 1; }

uint32_t mem_hotness_top(const MemHotness *h, MemHotPage *pages, uint32_t most) {
    uint32_t count = 0;

    for (uint64_t i = 0; h->leaves && i < h->leaf_count; i++) {
        const MemHotCounts *leaf = h->leaves[i];
        for (uint32_t at = 0; leaf && at < MEM_HOT_LEAF_PAGES; at++) {
            MemHotPage page = {
                .dpa = (i * MEM_HOT_LEAF_PAGES + at) * MEM_HOT_PAGE_BYTES,
                .reads = leaf->reads[at],
                .writes = leaf->writes[at],
            };
            if (page.reads + page.writes) {
                count = offer(pages, count, most, &page);
            }
        }
    }
    if (count) { /* `pages` may be NULL if its length is 0 */
        qsort(pages, count, sizeof(*pages), by_heat);
    }
    return count;
}
