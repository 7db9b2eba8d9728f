/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Posted accesses: the caller takes L1's part at once. The rest, which is most of
 * the work, is done later, or meanwhile by another thread. One thread posts and
 * settles. The thread that holds `running` runs the posted accesses in order, so
 * that no result depends on the choice of the thread.
 */
#include "posted.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem_alloc.h"

/*
 * News for L1 about a slot: its line came dirty, or came dirty and has left since. The slots with news are listed in
 * `news`.
 */
typedef enum News { NO_NEWS, LEFT_SINCE, CAME_DIRTY } News;

static bool begin_run(MemPosted *p) {
    return !atomic_load_explicit(&p->running, memory_order_relaxed) &&
           !atomic_exchange_explicit(&p->running, true, memory_order_acquire);
}

static void end_run(MemPosted *p) { atomic_store_explicit(&p->running, false, memory_order_release); }

/* The host fetches the lines of the ring back all at once, not one after the other. */
bool mem_sys_send_posted(MemPosted *p) {
    uint32_t end = p->count + p->batch_count;

    if (end - p->done_seen > MEM_POSTED_ROOM) {
        p->done_seen = atomic_load_explicit(&p->done, memory_order_acquire);
        if (end - p->done_seen > MEM_POSTED_ROOM) {
            return false;
        }
    }
    for (uint32_t i = p->count; i != end; i++) {
        mem_host_expect(mem_posted_miss(p, i));
    }
    for (uint32_t i = 0; i < p->batch_count; i++) {
        *mem_posted_miss(p, p->count + i) = p->batch[i];
    }
    p->batch_count = 0;
    p->count = end;
    atomic_store_explicit(&p->end, end, memory_order_release);
    return true;
}

static void note_came_dirty(MemPosted *p, uint32_t slot) {
    if (p->news_of_slot[slot] == NO_NEWS) {
        p->news[p->news_count++] = slot;
    }
    p->news_of_slot[slot] = CAME_DIRTY;
}

/*
 * A line that came dirty is dirty in its slot, although L1 learns of it only in fold(). If the line leaves the slot
 * before, the victim is marked dirty here.
 */
static void run(MemSys *m, MemPosted *p, MemPostedMiss *posted) {
    MemCpu *cpu = &m->cpus[0];
    mem_ps at_ps = mem_sys_enter(m, cpu, posted->at_ps + p->stall_ps);
    MemL1Miss *miss = &posted->miss;
    bool came_dirty;

    if (p->news_of_slot[miss->slot] == CAME_DIRTY) {
        p->news_of_slot[miss->slot] = LEFT_SINCE;
        miss->victim.dirty = true;
    }
    p->stall_ps += mem_sys_beyond_l1(m, miss, at_ps, &came_dirty) - at_ps;
    if (came_dirty) {
        note_came_dirty(p, miss->slot);
    }
}

static void run_all(MemSys *m, MemPosted *p) {
    uint32_t done = atomic_load_explicit(&p->done, memory_order_relaxed);
    uint32_t end;

    while (done != (end = atomic_load_explicit(&p->end, memory_order_acquire))) {
        for (uint32_t i = done; i != end; i++) {
            mem_cpu_expect(&m->cpus[0].caches, mem_posted_miss(p, i)->miss.line);
        }
        while (done != end) {
            run(m, p, mem_posted_miss(p, done));
            if (++done % MEM_POSTED_BATCH == 0) {
                atomic_store_explicit(&p->done, done, memory_order_release);
            }
        }
    }
    atomic_store_explicit(&p->done, done, memory_order_release);
}

bool memsys_may_post(const MemSys *m) {
    const MemCpu *cpu = &m->cpus[0];
    return m->cpu_count == 1 && m->memory.timed && !cpu->wc.open_count && !cpu->core.far_unsent &&
           m->memory.supply.cut_after == UINT64_MAX && !m->memory.loses_lines;
}

mem_ps memsys_post_bound(const MemSys *m, mem_ps now_ps, uint32_t accesses) {
    assert(m->cpu_count == 1);
    return mem_memory_local_bound(&m->memory, now_ps, accesses, m->cpus[0].streams.degree);
}

bool memsys_post(MemSys *m, uint64_t hpa, bool store, mem_ps now_ps, uint32_t *slot, bool *missed) {
    assert(m->cpu_count == 1);
    return mem_sys_post(m, hpa, store, now_ps, slot, missed);
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

/* Tell L1 and the counters the outstanding news. The caller holds `running`, so no other thread runs accesses. */
static void fold(MemSys *m, MemPosted *p) {
    for (uint32_t i = 0; i < p->news_count; i++) {
        uint32_t slot = p->news[i];
        if (p->news_of_slot[slot] == CAME_DIRTY) {
            mem_cpu_l1_dirty(&m->cpus[0].caches, slot);
        }
        p->news_of_slot[slot] = NO_NEWS;
    }
    p->news_count = 0;
    m->cpus[0].core.count->loads += p->loads;
    m->cpus[0].core.count->stores += p->stores;
    p->loads = p->stores = 0;
}

bool memsys_settle(MemSys *m, mem_ps *stall_ps) {
    MemPosted *p = m->posted;

    bool sent = mem_sys_send_posted(p);
    if (!begin_run(p)) {
        return false;
    }
    run_all(m, p);
    if (!sent && mem_sys_send_posted(p)) {
        run_all(m, p);
    }
    fold(m, p);
    *stall_ps = p->stall_ps;
    p->stall_ps = 0;
    end_run(p);
    return true;
}

MemPosted *mem_sys_posted_new(uint32_t l1_slots) {
    MemPosted *p = mem_aligned_alloc(alignof(MemPosted), sizeof(*p));

    memset(p, 0, sizeof(*p));
    p->news_of_slot = mem_calloc(l1_slots, sizeof(*p->news_of_slot));
    p->news = mem_calloc(l1_slots, sizeof(*p->news));
    return p;
}

void mem_sys_posted_free(MemPosted *p) {
    free(p->news_of_slot);
    free(p->news);
    free(p);
}
