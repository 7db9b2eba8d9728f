/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ghosts.h"

#include <stdlib.h>

#include "../../base/mem_alloc.h"
#include "../../base/mem_hash.h"

void mem_ghosts_init(MemGhosts *g, uint32_t sets, uint32_t room) {
    size_t entries = (size_t)sets * room;

    g->room = room;
    g->bucket_shift = mem_hash_shift(entries);
    g->pages = mem_calloc(entries, sizeof(*g->pages));
    g->hash_next = mem_calloc(entries, sizeof(*g->hash_next));
    g->buckets = mem_calloc((size_t)1 << (64 - g->bucket_shift), sizeof(*g->buckets));
    g->links = mem_calloc(entries, sizeof(*g->links));
    g->kept = mem_calloc(sets, sizeof(*g->kept));
    g->spare = mem_calloc(sets, sizeof(*g->spare));
    g->used = mem_calloc(sets, sizeof(*g->used));
}

void mem_ghosts_destroy(MemGhosts *g) {
    free(g->pages);
    free(g->hash_next);
    free(g->buckets);
    free(g->links);
    free(g->kept);
    free(g->spare);
    free(g->used);
}

/* The link that holds the number of a page's entry, or would hold it. */
static uint32_t *find_link(const MemGhosts *g, uint64_t page) {
    uint32_t *link = &g->buckets[mem_hash(page, g->bucket_shift)];
    while (*link && g->pages[*link - 1] != page) {
        link = &g->hash_next[*link - 1];
    }
    return link;
}

static void forget(MemGhosts *g, uint32_t set, uint32_t *link) {
    uint32_t entry = *link - 1;

    *link = g->hash_next[entry];
    mem_list_remove(g->links, &g->kept[set], entry);
    mem_list_push(g->links, &g->spare[set], entry);
}

static uint32_t free_entry(MemGhosts *g, uint32_t set) {
    if (g->used[set] < g->room) {
        return set * g->room + g->used[set]++;
    }
    if (!g->spare[set].count) {
        forget(g, set, find_link(g, g->pages[mem_list_oldest(&g->kept[set])]));
    }
    uint32_t entry = mem_list_oldest(&g->spare[set]);
    mem_list_remove(g->links, &g->spare[set], entry);
    return entry;
}

void mem_ghosts_add(MemGhosts *g, uint32_t set, uint64_t page) {
    uint32_t entry = free_entry(g, set);
    uint32_t *bucket = &g->buckets[mem_hash(page, g->bucket_shift)];

    g->pages[entry] = page;
    g->hash_next[entry] = *bucket;
    *bucket = entry + 1;
    mem_list_push(g->links, &g->kept[set], entry);
}

bool mem_ghosts_take(MemGhosts *g, uint32_t set, uint64_t page) {
    uint32_t *link = find_link(g, page);
    bool found = *link != 0;

    if (found) {
        forget(g, set, link);
    }
    return found;
}
