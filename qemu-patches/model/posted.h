/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Posted accesses, and the part of them on the path of every miss of the guest:
 * memsys_post() for inlining, used by QEMU's TLB and by posted.c.
 */
#ifndef MODEL_MEMSYS_POST_H
#define MODEL_MEMSYS_POST_H

#include <stdalign.h>
#include <stdatomic.h>

#include "base/host_cache.h"
#include "front.h"

typedef struct MemPostedMiss {
    MemL1Miss miss;
    mem_ps at_ps; /* without the stalls of the accesses posted before */
} MemPostedMiss;

#define MEM_POSTED_ROOM 1024u
#define MEM_POSTED_BATCH 64u

typedef struct MemPosted {
    MemPostedMiss misses[MEM_POSTED_ROOM]; /* a ring, by number */
    /*
     * Owned by the thread that posts. It gathers some misses first, because a store to a line of the ring may have to
     * wait until another core of the host gives the line back.
     */
    alignas(64) MemPostedMiss batch[MEM_POSTED_BATCH];
    uint32_t batch_count;
    uint32_t count;     /* number of misses put into the ring so far */
    uint32_t done_seen; /* of these, the number known to be done */
    uint64_t loads;
    uint64_t stores;
    /* The thread that posts publishes misses here, a batch at a time. */
    alignas(64) _Atomic uint32_t end;
    /*
     * Owned by the thread that runs accesses. The fields that other threads read are on separate host lines, or each
     * read would delay the work.
     */
    alignas(64) _Atomic bool running;
    alignas(64) _Atomic uint32_t done; /* published once per batch and at the end */
    alignas(64) mem_ps stall_ps;       /* stalls of the accesses done */
    uint8_t *news_of_slot;             /* a News of posted.c for each slot */
    uint32_t *news;                    /* slots with news */
    uint32_t news_count;
} MemPosted;

static inline MemPostedMiss *mem_posted_miss(MemPosted *p, uint32_t number) {
    return &p->misses[number % MEM_POSTED_ROOM];
}

/* Publish the gathered misses; returns false if the ring has no room yet. */
bool mem_sys_send_posted(MemPosted *p);

/* memsys_post() of memsys.h, for inlining. */
static inline bool mem_sys_post(MemSys *m, uint64_t hpa, bool store, mem_ps now_ps, uint32_t *slot, bool *missed) {
    MemPosted *p = m->posted;
    bool dirtied; /* unused: local DRAM has no old bytes to keep */

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
