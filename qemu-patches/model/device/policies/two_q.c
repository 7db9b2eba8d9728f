/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 2Q, the full version: Johnson and Shasha, "2Q: A Low Overhead High Performance
 * Buffer Management Replacement Algorithm", VLDB 1994. A new page waits in the FIFO
 * A1in. When the page leaves A1in, its number waits in the FIFO A1out. A page that
 * is missed while its number is in A1out has shown long-term use and enters the LRU
 * list Am. The sizes are the paper's: A1in a quarter of the frames, A1out half of
 * them.
 */
#include <stdlib.h>

#include "../../base/mem_alloc.h"
#include "ghosts.h"
#include "policy.h"

typedef struct TwoQSet {
    MemFrameList a1in;
    MemFrameList am;
} TwoQSet;

typedef struct TwoQ {
    uint32_t a1in_room;
    bool returns; /* the page given to victim() was in A1out */
    MemFrameLinks *links;
    bool *in_am; /* of each frame */
    MemGhosts a1out;
    TwoQSet sets[];
} TwoQ;

static uint32_t part(uint32_t whole, uint32_t divisor) { return whole >= divisor ? whole / divisor : 1; }

static void *two_q_create(const MemPolicyShape *shape) {
    size_t frames = (size_t)shape->sets * shape->ways;
    TwoQ *s = mem_calloc(1, sizeof(*s) + shape->sets * sizeof(*s->sets));

    s->a1in_room = part(shape->ways, 4);
    s->links = mem_calloc(frames, sizeof(*s->links));
    s->in_am = mem_calloc(frames, sizeof(*s->in_am));
    mem_ghosts_init(&s->a1out, shape->sets, part(shape->ways, 2));
    return s;
}

static void two_q_destroy(void *state) {
    TwoQ *s = state;
    mem_ghosts_destroy(&s->a1out);
    free(s->links);
    free(s->in_am);
    free(s);
}

static void two_q_hit(void *state, uint32_t set, uint32_t frame) {
    TwoQ *s = state;
    if (s->in_am[frame]) {
        mem_list_renew(s->links, &s->sets[set].am, frame);
    }
}

static uint32_t two_q_victim(void *state, uint32_t set, uint64_t page) {
    TwoQ *s = state;
    const TwoQSet *q = &s->sets[set];

    s->returns = mem_ghosts_take(&s->a1out, set, page); /* before the victim's number may push it out */
    return mem_list_oldest(q->a1in.count > s->a1in_room || !q->am.count ? &q->a1in : &q->am);
}

static void two_q_removed(void *state, uint32_t set, uint32_t frame, uint64_t page) {
    TwoQ *s = state;

    if (s->in_am[frame]) {
        mem_list_remove(s->links, &s->sets[set].am, frame);
    } else {
        mem_list_remove(s->links, &s->sets[set].a1in, frame);
        mem_ghosts_add(&s->a1out, set, page);
    }
}

static void two_q_filled(void *state, uint32_t set, uint32_t frame, uint64_t page) {
    TwoQ *s = state;
    TwoQSet *q = &s->sets[set];

    s->in_am[frame] = s->returns;
    s->returns = false;
    (void)page;
    mem_list_push(s->links, s->in_am[frame] ? &q->am : &q->a1in, frame);
}

const MemCachePolicy mem_policy_2q = {
    .name = "2q",
    .create = two_q_create,
    .destroy = two_q_destroy,
    .hit = two_q_hit,
    .victim = two_q_victim,
    .removed = two_q_removed,
    .filled = two_q_filled,
};
