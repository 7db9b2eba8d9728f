/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pool of equal places, each taken until some time: fill buffers, MSHRs,
 * write-combining buffers. Stored as a heap with the place that becomes free first
 * on top.
 */
#ifndef MODEL_SLOTS_H
#define MODEL_SLOTS_H

#include <assert.h>
#include <stdlib.h>

#include "mem_alloc.h"
#include "serial.h"

typedef struct MemSlots {
    mem_ps *until_ps;
    uint32_t count;
    uint32_t room; /* 0: no limit */
} MemSlots;

static inline void mem_slots_init(MemSlots *s, uint32_t count) {
    *s = (MemSlots){
        .until_ps = count ? (mem_ps *)mem_calloc(count, sizeof(mem_ps)) : NULL, .count = count, .room = count};
}

static inline void mem_slots_destroy(MemSlots *s) { free(s->until_ps); }

/* Make all places free. */
static inline void mem_slots_clear(MemSlots *s) {
    s->count = s->room;
    for (uint32_t i = 0; i < s->room; i++) {
        s->until_ps[i] = 0;
    }
}

/* The earliest time from `at_ps` on at which a place is free. */
static inline mem_ps mem_slots_ready(const MemSlots *s, mem_ps at_ps) {
    return s->room ? mem_later(s->until_ps[0], at_ps) : at_ps;
}

/* When all places are free; at least `at_ps`. */
static inline mem_ps mem_slots_all_free(const MemSlots *s, mem_ps at_ps) {
    for (uint32_t i = 0; i < s->count; i++) {
        at_ps = mem_later(at_ps, s->until_ps[i]);
    }
    return at_ps;
}

/* Take the place that becomes free first, until `until_ps`, which is not before it becomes free. */
static inline void mem_slots_take(MemSlots *s, mem_ps until_ps) {
    uint32_t hole = 0;

    if (!s->room) {
        return;
    }
    for (;;) {
        uint32_t child = 2 * hole + 1;
        if (child + 1 < s->count && s->until_ps[child + 1] < s->until_ps[child]) {
            child++;
        }
        if (child >= s->count || s->until_ps[child] >= until_ps) {
            break;
        }
        s->until_ps[hole] = s->until_ps[child];
        hole = child;
    }
    s->until_ps[hole] = until_ps;
}

/* Remove the place that becomes free first; mem_slots_add() adds a place again. */
static inline void mem_slots_remove(MemSlots *s) {
    assert(s->count > 0);
    mem_ps last_ps = s->until_ps[--s->count];
    if (s->count) {
        mem_slots_take(s, last_ps);
    }
}

static inline void mem_slots_add(MemSlots *s, mem_ps until_ps) {
    assert(s->count < s->room);
    uint32_t hole = s->count++;
    while (hole > 0 && until_ps < s->until_ps[(hole - 1) / 2]) {
        s->until_ps[hole] = s->until_ps[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    s->until_ps[hole] = until_ps;
}

#endif
