/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CLOCK, or second chance: a hand goes round the frames of a set and spares once
 * each page that was hit since the hand last passed. A page enters without this
 * mark, so a page that is never hit leaves as under FIFO.
 */
#include <stdlib.h>

#include "../../base/mem_alloc.h"
#include "policy.h"

typedef struct Clock {
    uint32_t ways;
    bool *used;      /* mark of each frame */
    uint32_t hand[]; /* for each set, the way at which the hand points */
} Clock;

static void *clock_create(const MemPolicyShape *shape) {
    Clock *s = mem_calloc(1, sizeof(*s) + shape->sets * sizeof(*s->hand));
    s->ways = shape->ways;
    s->used = mem_calloc((size_t)shape->sets * shape->ways, sizeof(*s->used));
    return s;
}

static void clock_destroy(void *state) {
    Clock *s = state;
    free(s->used);
    free(s);
}

static void clock_hit(void *state, uint32_t set, uint32_t frame) {
    Clock *s = state;
    (void)set;
    s->used[frame] = true;
}

static uint32_t clock_victim(void *state, uint32_t set, uint64_t page) {
    Clock *s = state;

    (void)page;
    for (;;) {
        uint32_t frame = set * s->ways + s->hand[set];
        s->hand[set] = s->hand[set] + 1 < s->ways ? s->hand[set] + 1 : 0;
        if (!s->used[frame]) {
            return frame;
        }
        s->used[frame] = false;
    }
}

static void clock_removed(void *state, uint32_t set, uint32_t frame, uint64_t page) {
    (void)state;
    (void)set;
    (void)frame;
    (void)page;
}

static void clock_filled(void *state, uint32_t set, uint32_t frame, uint64_t page) {
    Clock *s = state;
    (void)set;
    (void)page;
    s->used[frame] = false;
}

const MemCachePolicy mem_policy_clock = {
    .name = "clock",
    .create = clock_create,
    .destroy = clock_destroy,
    .hit = clock_hit,
    .victim = clock_victim,
    .removed = clock_removed,
    .filled = clock_filled,
};
