/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What has been posted, and the part of it that is on the way of every miss of
 * the guest: memsys_post() to be inlined, for QEMU's TLB, and memsys_posted.c.
 */
#ifndef MODEL_MEMSYS_POST_H
#define MODEL_MEMSYS_POST_H

#include <stdalign.h>
#include <stdatomic.h>

#include "host_cache.h"
#include "memsys_internal.h"

typedef struct MemPostedMiss {
    MemL1Miss miss;
    mem_ps at_ps; /* less the stalls of those posted before */
} MemPostedMiss;

#define MEM_POSTED_ROOM 1024u
/* The host's cores may be far apart: how many are told at once, and how far ahead their places are fetched back. */
#define MEM_POSTED_TOLD_AT_ONCE 64u
#define MEM_POSTED_EXPECTED_AHEAD 8u

typedef struct MemPosted {
    MemPostedMiss misses[MEM_POSTED_ROOM]; /* a ring, by number */
    /* Of whoever posts. */
    alignas(64) uint32_t count; /* of the misses so far */
    uint32_t done_seen;         /* of these it knows that they are done */
    uint64_t loads;
    uint64_t stores;
    /* What it tells whoever runs them, now and then. */
    alignas(64) _Atomic uint32_t end;
    /* Of whoever runs them. */
    alignas(64) _Atomic bool running;
    _Atomic uint32_t done; /* told now and then, too */
    mem_ps stall_ps;       /* of those done */
    uint8_t *news_of_slot; /* of memsys_posted.c */
    uint32_t *news;        /* slots */
    uint32_t news_count;
} MemPosted;

static inline MemPostedMiss *mem_posted_miss(MemPosted *p, uint32_t number) {
    return &p->misses[number % MEM_POSTED_ROOM];
}

static inline void mem_posted_tell(MemPosted *p) { atomic_store_explicit(&p->end, p->count, memory_order_release); }

static inline bool mem_posted_is_full(MemPosted *p) {
    if (p->count - p->done_seen == MEM_POSTED_ROOM) {
        p->done_seen = atomic_load_explicit(&p->done, memory_order_acquire);
    }
    return p->count - p->done_seen == MEM_POSTED_ROOM;
}

/* As memsys_post() of memsys.h. */
static inline bool mem_sys_post(MemSys *m, uint64_t hpa, bool store, mem_ps now_ps, uint32_t *slot) {
    MemPosted *p = m->posted;
    MemPostedMiss *posted = mem_posted_miss(p, p->count);
    bool dirtied; /* of no interest: local DRAM has no old bytes to keep */

    if (mem_posted_is_full(p)) {
        return false;
    }
    /* Whoever runs the misses has read it last. */
    mem_host_expect(mem_posted_miss(p, p->count + MEM_POSTED_EXPECTED_AHEAD));
    p->loads += !store;
    p->stores += store;
    if (mem_sys_access_l1(m, mem_sys_line(m, hpa), store, &posted->miss, &dirtied)) {
        posted->at_ps = now_ps;
        if (++p->count % MEM_POSTED_TOLD_AT_ONCE == 0) {
            mem_posted_tell(p);
        }
    }
    *slot = posted->miss.slot;
    return true;
}

#endif
