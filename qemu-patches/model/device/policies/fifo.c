/* SPDX-License-Identifier: GPL-2.0-or-later */
/* FIFO: the page filled first leaves. Since frames are filled in order, its frame follows the last victim's. */
#include <stdlib.h>

#include "../../base/mem_alloc.h"
#include "policy.h"

typedef struct Fifo {
    uint32_t ways;
    uint32_t next[]; /* for each set, the way that leaves next */
} Fifo;

static void *fifo_create(const MemPolicyShape *shape) {
    Fifo *s = mem_calloc(1, sizeof(*s) + shape->sets * sizeof(*s->next));
    s->ways = shape->ways;
    return s;
}

static void fifo_hit(void *state, uint32_t set, uint32_t frame) {
    (void)state;
    (void)set;
    (void)frame;
}

static uint32_t fifo_victim(void *state, uint32_t set, uint64_t page) {
    Fifo *s = state;
    uint32_t way = s->next[set];

    (void)page;
    s->next[set] = way + 1 < s->ways ? way + 1 : 0;
    return set * s->ways + way;
}

static void fifo_changed(void *state, uint32_t set, uint32_t frame, uint64_t page) {
    (void)state;
    (void)set;
    (void)frame;
    (void)page;
}

const MemCachePolicy mem_policy_fifo = {
    .name = "fifo",
    .create = fifo_create,
    .destroy = free,
    .hit = fifo_hit,
    .victim = fifo_victim,
    .removed = fifo_changed,
    .filled = fifo_changed,
};
