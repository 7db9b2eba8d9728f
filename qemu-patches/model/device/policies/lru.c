/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LRU: the page not used for the longest time leaves. */
#include <stdlib.h>

#include "../../base/mem_alloc.h"
#include "frame_list.h"
#include "policy.h"

typedef struct Lru {
    MemFrameLinks *links;
    MemFrameList lists[]; /* for each set, frames in order of use */
} Lru;

static void *lru_create(const MemPolicyShape *shape) {
    Lru *s = mem_calloc(1, sizeof(*s) + shape->sets * sizeof(*s->lists));
    s->links = mem_calloc((size_t)shape->sets * shape->ways, sizeof(*s->links));
    return s;
}

static void lru_destroy(void *state) {
    Lru *s = state;
    free(s->links);
    free(s);
}

static void lru_hit(void *state, uint32_t set, uint32_t frame) {
    Lru *s = state;
    mem_list_renew(s->links, &s->lists[set], frame);
}

static uint32_t lru_victim(void *state, uint32_t set, uint64_t page) {
    const Lru *s = state;
    (void)page;
    return mem_list_oldest(&s->lists[set]);
}

static void lru_removed(void *state, uint32_t set, uint32_t frame, uint64_t page) {
    Lru *s = state;
    (void)page;
    mem_list_remove(s->links, &s->lists[set], frame);
}

static void lru_filled(void *state, uint32_t set, uint32_t frame, uint64_t page) {
    Lru *s = state;
    (void)page;
    mem_list_push(s->links, &s->lists[set], frame);
}

const MemCachePolicy mem_policy_lru = {
    .name = "lru",
    .create = lru_create,
    .destroy = lru_destroy,
    .hit = lru_hit,
    .victim = lru_victim,
    .removed = lru_removed,
    .filled = lru_filled,
};
