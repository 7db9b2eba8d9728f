/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a MemSys is made of; for the files of this folder, and for whoever inlines from posted.h. */
#ifndef MODEL_MEMSYS_INTERNAL_H
#define MODEL_MEMSYS_INTERNAL_H

#include <stdalign.h>

#include "cpu/cpu_caches.h"
#include "cpu/directory.h"
#include "cpu/streams.h"
#include "cpu/wc_buffers.h"
#include "memory/memory.h"
#include "memory/observer.h"
#include "memsys.h"

#define LINE_SHIFT 6

/* An access that the L1 could not serve: what the levels beyond it have to know. */
typedef struct MemL1Miss {
    uint64_t line;
    MemVictim victim; /* what left the slot */
    uint32_t slot;
    bool store;
} MemL1Miss;

/* One core: what it asks of memory, and where it is. */
typedef struct MemCpu {
    /* Of whoever posts accesses, or never changed. */
    MemCpuCaches caches; /* the L1; L2 and LLC are of whoever runs what was posted */
    uint32_t number;
    /* Changed by every miss: on other lines of the host, which may be two cores far apart. */
    alignas(64) mem_ps now_ps; /* of its latest call */
    mem_ps resumes_ps;         /* when it goes on after its latest wait */
    MemStreams streams;
    MemWc wc;
    MemCore core; /* what it has under way */
} MemCpu;

struct MemSys {
    /* Of whoever posts accesses, or never changed. */
    MemCallbacks callbacks;
    struct MemPosted *posted; /* posted.c */
    mem_ps l2_configured_ps, llc_configured_ps;
    mem_ps l2_ps, llc_ps; /* stalls of hits now: 0 outside the region of interest */
    MemOverlap overlap;
    bool stores_posted;
    bool clwb_keeps_line;
    mem_ps pause_ps;
    mem_ps insn_ps[MEM_INSN_COSTS];
    const MemObserver *observer; /* or NULL */
    uint32_t cpu_count;
    MemDirectory directory; /* with several cores */
    mem_ps ipi_ps, lock_ps;
    alignas(64) MemMemory memory;
    MemCpu cpus[];
};

static inline bool mem_sys_has_others(const MemSys *m) { return __builtin_expect(m->cpu_count > 1, 0); }

static inline MemCpu *mem_sys_cpu(MemSys *m, uint32_t core) {
    assert(core < m->cpu_count);
    return core ? &m->cpus[core] : &m->cpus[0]; /* the host need not multiply for the only one */
}

/* Let happen what is due. */
static inline void mem_sys_run_due(MemSys *m, mem_ps now_ps) {
    for (uint32_t i = 0; i < m->memory.device_count; i++) {
        MemPersist *p = &m->memory.devices[i]->persist;
        if (mem_events_next_ps(&p->events) <= now_ps) {
            mem_persist_run(p, now_ps);
        }
    }
}

static inline mem_ps mem_sys_enter_alone(MemSys *m, MemCpu *cpu, mem_ps now_ps) {
    cpu->now_ps = now_ps = mem_later(cpu->now_ps, now_ps);
    mem_sys_run_due(m, now_ps);
    return now_ps;
}

/* Every call passes here first: what was due by now happens. The time of a core does not go back. */
static inline mem_ps mem_sys_enter(MemSys *m, MemCpu *cpu, mem_ps now_ps) {
    now_ps = mem_sys_enter_alone(m, cpu, now_ps);
    if (mem_sys_has_others(m)) {
        m->memory.called_ps = mem_later(m->memory.called_ps, now_ps);
        assert(!m->memory.timed || m->memory.called_ps - now_ps <= MEM_CORES_APART_PS);
    }
    return now_ps;
}
/* An operation of a core on memory at `at_ps`; returns when it goes on. */
mem_ps mem_sys_op(MemSys *m, MemCpu *cpu, MemOpKind kind, uint64_t line, mem_ps at_ps);
/* Send every WC buffer of a core, oldest first; returns when it goes on. */
mem_ps mem_sys_send_wc_buffers(MemSys *m, MemCpu *cpu, mem_ps at_ps);
/* Another core makes this one send a buffer. */
void mem_sys_send_for_other(MemSys *m, MemCpu *cpu, uint32_t buffer, mem_ps at_ps);
/* The rest of one that missed, of the only core; returns when it goes on, and whether the line was dirty. */
mem_ps mem_sys_beyond_l1(MemSys *m, const MemL1Miss *miss, mem_ps at_ps, bool *dirty);

/* ---- coherence.c: with several cores ---- */

/* What a miss found in other cores' private caches, which gave up the line to a store and share it with a load. */
typedef struct MemAsked {
    uint32_t others; /* that held the line, bit by bit */
    bool dirty;      /* one of them held it dirty */
} MemAsked;

uint32_t mem_sys_others(const MemSys *m, const MemCpu *cpu, uint64_t line);
/* Before a line that missed L1 is fetched; then, after it was, what became of it and of what left; then what to wait
 * for. */
void mem_sys_ask_others(MemSys *m, MemCpu *cpu, uint64_t line, bool store, MemAsked *asked);
MemOpKind mem_sys_fetched(MemSys *m, MemCpu *cpu, const MemL1Miss *miss, const MemAsked *asked, bool streams,
                          MemCpuFetch *fetch);
/* A store hit a line that is clean in L1: the core has it alone when it goes on. `*dirtied`: it was clean everywhere.
 */
mem_ps mem_sys_own(MemSys *m, MemCpu *cpu, uint64_t line, mem_ps at_ps, bool *dirtied);
/* The prefetcher asks no core for a line, and joins no other one's request. */
bool mem_sys_may_prefetch(MemSys *m, const MemCpu *cpu, uint64_t line);
void mem_sys_prefetched(MemSys *m, MemCpu *cpu, uint64_t line, const MemCpuFetch *fetch);
/* These cores lose the line, or it becomes clean there; returns whether one held it dirty. */
bool mem_sys_invalidate(MemSys *m, uint32_t cores, uint64_t line);
bool mem_sys_clean_others(MemSys *m, uint32_t cores, uint64_t line);
const char *mem_sys_check_coherence(const MemSys *m);

struct MemPosted *mem_sys_posted_new(uint32_t l1_slots);
void mem_sys_posted_free(struct MemPosted *p);

/* Every address passes here, so that no level has to look at the size of a tag. */
static inline uint64_t mem_sys_line(const MemSys *m, uint64_t hpa) {
    assert(hpa >> LINE_SHIFT < m->cpus[0].caches.line_end); /* the size of an address space sees to it */
    return hpa >> LINE_SHIFT;
}

/* A line left L1, or may not be written without telling the model any more. */
static inline void mem_sys_drop_slot(MemSys *m, const MemCpu *cpu, uint32_t slot) {
    if (slot != MEM_NO_SLOT) {
        m->callbacks.l1_slot_dropped(m->callbacks.opaque, cpu->number, slot);
    }
}

/*
 * The L1's part of an access; returns whether it missed. `*dirtied`: a store hit a clean line. That a victim's slot
 * was dropped the caller has to say, who may have a shorter way than mem_sys_drop_slot().
 */
static inline bool mem_sys_access_l1(MemCpu *cpu, uint64_t line, bool store, MemL1Miss *miss, bool *dirtied) {
    MemL1Access access = mem_cpu_access_l1(&cpu->caches, line, store);

    miss->slot = access.slot;
    *dirtied = access.dirtied;
    if (access.hit) {
        return false;
    }
    miss->line = line;
    miss->store = store;
    miss->victim = access.victim;
    return true;
}

#endif
