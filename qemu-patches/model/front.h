/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The internals of a MemSys, for the files of this folder and for code that inlines functions of posted.h. */
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

/* An access that missed L1, as the levels beyond L1 need to know it. */
typedef struct MemL1Miss {
    uint64_t line;
    MemVictim victim; /* the line that left the slot */
    uint32_t slot;
    bool store;
} MemL1Miss;

/* One core: its caches, its requests to memory, and its position in time. */
typedef struct MemCpu {
    /* Owned by the thread that posts accesses, or never changed. */
    MemCpuCaches caches; /* this thread owns L1; the thread that runs posted accesses owns L2 and LLC */
    uint32_t number;
    /* Changed by every miss. On other lines of the host, because the two threads may run on cores far apart. */
    alignas(64) mem_ps now_ps; /* time of the latest call */
    mem_ps resumes_ps;         /* when the core goes on after its latest wait */
    MemStreams streams;
    MemWc wc;
    MemCore core; /* operations under way */
} MemCpu;

struct MemSys {
    /* Owned by the thread that posts accesses, or never changed. */
    MemCallbacks callbacks;
    struct MemPosted *posted; /* see posted.c */
    mem_ps l2_configured_ps, llc_configured_ps;
    mem_ps l2_ps, llc_ps; /* stalls of hits in the current mode: 0 outside the region of interest */
    MemOverlap overlap;
    bool stores_posted;
    bool clwb_keeps_line;
    mem_ps pause_ps;
    mem_ps insn_ps[MEM_INSN_COSTS];
    const MemObserver *observer; /* or NULL */
    uint32_t cpu_count;
    MemDirectory directory; /* used with several cores */
    mem_ps ipi_ps, lock_ps;
    alignas(64) MemMemory memory;
    MemCpu cpus[];
};

static inline bool mem_sys_has_others(const MemSys *m) { return __builtin_expect(m->cpu_count > 1, 0); }

static inline MemCpu *mem_sys_cpu(MemSys *m, uint32_t core) {
    assert(core < m->cpu_count);
    return core ? &m->cpus[core] : &m->cpus[0]; /* saves the host a multiplication if there is one core */
}

/* Run the persistence events that are due by `now_ps`. */
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

/* Every call passes here first and runs the events that are due by now. The time of a core does not go back. */
static inline mem_ps mem_sys_enter(MemSys *m, MemCpu *cpu, mem_ps now_ps) {
    now_ps = mem_sys_enter_alone(m, cpu, now_ps);
    if (mem_sys_has_others(m)) {
        m->memory.called_ps = mem_later(m->memory.called_ps, now_ps);
        assert(!m->memory.timed || m->memory.called_ps - now_ps <= MEM_CORES_APART_PS);
    }
    return now_ps;
}
/* Issue an operation of a core on memory at `at_ps`; returns when the core goes on. */
mem_ps mem_sys_op(MemSys *m, MemCpu *cpu, MemOpKind kind, uint64_t line, mem_ps at_ps);
/* Send every WC buffer of a core, oldest first; returns when it goes on. */
mem_ps mem_sys_send_wc_buffers(MemSys *m, MemCpu *cpu, mem_ps at_ps);
/* Another core makes this core send a buffer. */
void mem_sys_send_for_other(MemSys *m, MemCpu *cpu, uint32_t buffer, mem_ps at_ps);
/* The second step of an L1 miss, with one core; returns when the core goes on. `*dirty`: the line was dirty. */
mem_ps mem_sys_beyond_l1(MemSys *m, const MemL1Miss *miss, mem_ps at_ps, bool *dirty);

/* ---- coherence.c: with several cores ---- */

uint32_t mem_sys_others(const MemSys *m, const MemCpu *cpu, uint64_t line);
/*
 * Fetch a line that missed L1: take or share other cores' copies, look the line up beyond L1, and record the new places
 * of the line and of the lines that left. `l1_victim`: the dirty line that left L1, or MEM_NO_LINE. `streams`: the core
 * does not wait for a load. Returns the operation for which the core waits because of other cores, or MEM_OP_NONE.
 */
MemOpKind mem_sys_fetch_beside_others(MemSys *m, MemCpu *cpu, const MemL1Miss *miss, uint64_t l1_victim, bool streams,
                                      MemCpuFetch *fetch);
/*
 * A store hit a line that is clean in L1: take the line from the other cores. Returns whether one held it; the core
 * then waits for an upgrade. `*dirtied`: the line was clean everywhere.
 */
bool mem_sys_own(MemSys *m, MemCpu *cpu, uint64_t line, bool *dirtied);
/* Fetch a line for the prefetcher; false if the prefetcher must leave the line to other cores. */
bool mem_sys_prefetch_beside_others(MemSys *m, MemCpu *cpu, uint64_t line, MemCpuFetch *fetch);
/* Take the line from these cores, or make it clean there; returns whether one of them held it dirty. */
bool mem_sys_invalidate(MemSys *m, uint32_t cores, uint64_t line);
bool mem_sys_clean_others(MemSys *m, uint32_t cores, uint64_t line);
const char *mem_sys_check_coherence(const MemSys *m);

struct MemPosted *mem_sys_posted_new(uint32_t l1_slots);
void mem_sys_posted_free(struct MemPosted *p);

/* Every address passes here, so that no level has to check the size of a tag. */
static inline uint64_t mem_sys_line(const MemSys *m, uint64_t hpa) {
    assert(hpa >> LINE_SHIFT < m->cpus[0].caches.line_end); /* guaranteed by the size of an address space */
    return hpa >> LINE_SHIFT;
}

/* A line left L1, or may no longer be written without telling the model. */
static inline void mem_sys_drop_slot(MemSys *m, const MemCpu *cpu, uint32_t slot) {
    if (slot != MEM_NO_SLOT) {
        m->callbacks.l1_slot_dropped(m->callbacks.opaque, cpu->number, slot);
    }
}

/*
 * L1's part of an access; returns whether it missed. `*dirtied`: a store hit a clean line. The caller must report that
 * the victim's slot was dropped, because it may know a shorter way than mem_sys_drop_slot().
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
