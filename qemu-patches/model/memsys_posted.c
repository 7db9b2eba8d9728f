/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Posted accesses: the caller takes the L1's part at once and the rest, which
 * is most of the work, is done later, or by another thread meanwhile. One
 * thread posts and settles; whoever holds `running` works on what was posted,
 * in order, so that nothing depends on which thread it is.
 */
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "mem_alloc.h"
#include "memsys_internal.h"
#include "seeded_bug.h"

typedef struct MemPostedMiss {
    MemL1Miss miss;
    mem_ps at_ps; /* less the stalls of those posted before */
} MemPostedMiss;

typedef struct MemPosted {
    MemPostedMiss misses[MEMSYS_POSTED_MAX];
    /* Of whoever posts. */
    alignas(64) uint32_t count; /* of the misses */
    uint64_t loads;
    uint64_t stores;
    /* What it tells whoever runs them, now and then: the hosts' cores are far apart. */
    alignas(64) _Atomic uint32_t end;
    /* Of whoever runs them. */
    alignas(64) _Atomic bool running;
    _Atomic uint32_t done;
    mem_ps stall_ps;  /* of those done */
    bool *came_dirty; /* by slot: the line there is dirty, and L1 does not know yet */
    uint32_t dirty_slots[MEMSYS_POSTED_MAX];
    uint32_t dirty_count;
} MemPosted;

#define TOLD_AT_ONCE 16u

static void tell(MemPosted *p) { atomic_store_explicit(&p->end, p->count, memory_order_release); }

static bool begin_run(MemPosted *p) { return !atomic_exchange_explicit(&p->running, true, memory_order_acquire); }

static void end_run(MemPosted *p) { atomic_store_explicit(&p->running, false, memory_order_release); }

/* A line that came dirty is dirty in its slot, though L1 is told only at the end: see to it if it leaves before. */
static void run(MemSys *m, MemPosted *p, MemPostedMiss *posted) {
    mem_ps at_ps = mem_sys_enter(m, posted->at_ps + p->stall_ps);
    MemL1Miss *miss = &posted->miss;
    bool came_dirty;

    if (p->came_dirty[miss->slot]) {
        p->came_dirty[miss->slot] = false;
        miss->victim_dirty |= !MEM_HAS_BUG(MEM_BUG_POSTED_CAME_CLEAN);
    }
    p->stall_ps += mem_sys_beyond_l1(m, miss, at_ps, &came_dirty) - at_ps;
    if (came_dirty) {
        p->came_dirty[miss->slot] = true;
        p->dirty_slots[p->dirty_count++] = miss->slot;
    }
}

static void run_all(MemSys *m, MemPosted *p) {
    uint32_t done = atomic_load_explicit(&p->done, memory_order_relaxed);

    uint32_t end;

    while (done < (end = atomic_load_explicit(&p->end, memory_order_acquire))) {
        for (uint32_t i = done; i < end; i++) {
            mem_cpu_expect(&m->cpu, p->misses[i].miss.line);
        }
        while (done < end) {
            run(m, p, &p->misses[done++]);
        }
    }
    atomic_store_explicit(&p->done, done, memory_order_relaxed);
}

bool memsys_may_post(const MemSys *m) {
    return m->memory.timed && !m->wc.open_count && m->memory.supply.cut_after == UINT64_MAX;
}

bool memsys_is_local(const MemSys *m, uint64_t hpa) {
    uint64_t device_line;
    return !mem_memory_route(&m->memory, hpa >> LINE_SHIFT, &device_line);
}

mem_ps memsys_post_bound(const MemSys *m, mem_ps now_ps) {
    return mem_memory_local_bound(&m->memory, now_ps, MEMSYS_POSTED_MAX, m->streams.degree);
}

bool memsys_post(MemSys *m, uint64_t hpa, bool store, mem_ps now_ps, uint32_t *slot) {
    MemPosted *p = m->posted;
    MemPostedMiss *posted = &p->misses[p->count];
    bool dirtied; /* of no interest: local DRAM has no old bytes to keep */

    p->loads += !store;
    p->stores += store;
    bool missed = mem_sys_access_l1(m, hpa >> LINE_SHIFT, store, &posted->miss, &dirtied);
    *slot = posted->miss.slot;
    if (missed) {
        posted->at_ps = now_ps;
        if (++p->count % TOLD_AT_ONCE == 0) {
            tell(p);
        }
    }
    return p->count < MEMSYS_POSTED_MAX;
}

bool memsys_run_posted(MemSys *m) {
    MemPosted *p = m->posted;

    if (atomic_load_explicit(&p->end, memory_order_relaxed) == atomic_load_explicit(&p->done, memory_order_relaxed) ||
        !begin_run(p)) {
        return false;
    }
    run_all(m, p);
    end_run(p);
    return true;
}

/* Nobody else is at it: what the L1, and the counters, were not told yet. */
static void fold(MemSys *m, MemPosted *p) {
    for (uint32_t i = 0; i < p->dirty_count; i++) {
        uint32_t slot = p->dirty_slots[i];
        if (p->came_dirty[slot]) {
            p->came_dirty[slot] = false;
            mem_cpu_l1_dirty(&m->cpu, slot);
        }
    }
    m->memory.count->loads += p->loads;
    m->memory.count->stores += p->stores;
    p->loads = p->stores = 0;
    p->dirty_count = 0;
    atomic_store_explicit(&p->done, 0, memory_order_relaxed);
    p->count = 0;
    tell(p);
}

bool memsys_settle(MemSys *m, mem_ps *stall_ps) {
    MemPosted *p = m->posted;

    tell(p);
    if (!begin_run(p)) {
        return false;
    }
    run_all(m, p);
    fold(m, p);
    *stall_ps = p->stall_ps;
    p->stall_ps = 0;
    end_run(p);
    return true;
}

MemPosted *mem_sys_posted_new(uint32_t l1_slots) {
    MemPosted *p = mem_aligned_alloc(alignof(MemPosted), sizeof(*p));

    memset(p, 0, sizeof(*p));
    p->came_dirty = mem_calloc(l1_slots, sizeof(*p->came_dirty));
    return p;
}

void mem_sys_posted_free(MemPosted *p) {
    free(p->came_dirty);
    free(p);
}
