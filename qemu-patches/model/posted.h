/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What has been posted, and the part of it that is on the way of every miss of
 * the guest: memsys_post() to be inlined, for QEMU's TLB, and posted.c.
 */
#ifndef MODEL_MEMSYS_POST_H
#define MODEL_MEMSYS_POST_H

#include <stdalign.h>
#include <stdatomic.h>

#include "base/host_cache.h"
#include "front.h"

typedef struct MemPostedMiss {
    MemL1Miss miss;
    mem_ps at_ps; /* less the stalls of those posted before */
} MemPostedMiss;

#define MEM_POSTED_ROOM 1024u
#define MEM_POSTED_BATCH 64u

typedef struct MemPosted {
    MemPostedMiss misses[MEM_POSTED_ROOM]; /* a ring, by number */
    /* Of whoever posts. It gathers some first: for the ring's lines a store may have to wait until another core of the
     * host gives them back. */
    alignas(64) MemPostedMiss batch[MEM_POSTED_BATCH];
    uint32_t batch_count;
    uint32_t count;     /* of the misses in the ring so far */
    uint32_t done_seen; /* of these it knows that they are done */
    uint64_t loads;
    uint64_t stores;
    /* What it tells whoever runs them, a batch at a time. */
    alignas(64) _Atomic uint32_t end;
    /* Of whoever runs them: what others look at in lines of its own, or each look would delay the work. */
    alignas(64) _Atomic bool running;
    alignas(64) _Atomic uint32_t done; /* told now and then, too */
    alignas(64) mem_ps stall_ps;       /* of those done */
    uint8_t *news_of_slot;             /* of posted.c */
    uint32_t *news;                    /* slots */
    uint32_t news_count;
} MemPosted;

static inline MemPostedMiss *mem_posted_miss(MemPosted *p, uint32_t number) {
    return &p->misses[number % MEM_POSTED_ROOM];
}

/* Let others run what was gathered; false if there is no room yet. */
bool mem_sys_send_posted(MemPosted *p);

/* As memsys_post() of memsys.h. */
static inline bool mem_sys_post(MemSys *m, uint64_t hpa, bool store, mem_ps now_ps, uint32_t *slot, bool *missed) {
    MemPosted *p = m->posted;
    bool dirtied; /* of no interest: local DRAM has no old bytes to keep */

    if (p->batch_count == MEM_POSTED_BATCH && !mem_sys_send_posted(p)) {
        return false;
    }
    MemPostedMiss *posted = &p->batch[p->batch_count];
    p->loads += !store;
    p->stores += store;
    *missed = mem_sys_access_l1(&m->cpus[0], mem_sys_line(m, hpa), store, &posted->miss, &dirtied);
    posted->at_ps = now_ps;
    p->batch_count += *missed;
    *slot = posted->miss.slot;
    return true;
}

#endif
