/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a MemSys is made of; for the files of this folder, and for whoever inlines from posted.h. */
#ifndef MODEL_MEMSYS_INTERNAL_H
#define MODEL_MEMSYS_INTERNAL_H

#include <stdalign.h>

#include "cpu/cpu_caches.h"
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

struct MemSys {
    /* Of whoever posts accesses, or never changed. */
    MemCpuCaches cpu; /* the L1; L2 and LLC are of whoever runs what was posted */
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
    /* Changed by every miss: on other lines of the host, which may be two cores far apart. */
    alignas(64) mem_ps now_ps; /* of the latest call */
    mem_ps resumes_ps;         /* when the CPU goes on after its latest wait */
    MemStreams streams;
    MemWc wc;
    MemMemory memory;
};

/* Every call passes here first: what was due by now happens. Time does not go back. */
static inline mem_ps mem_sys_enter(MemSys *m, mem_ps now_ps) {
    m->now_ps = now_ps = mem_later(m->now_ps, now_ps);
    for (uint32_t i = 0; i < m->memory.device_count; i++) {
        MemPersist *p = &m->memory.devices[i]->persist;
        if (mem_events_next_ps(&p->events) <= now_ps) {
            mem_persist_run(p, now_ps);
        }
    }
    return now_ps;
}
/* An operation on memory at `at_ps`; returns when the CPU goes on. */
mem_ps mem_sys_op(MemSys *m, MemOpKind kind, uint64_t line, mem_ps at_ps);
/* Send every WC buffer, oldest first; returns when the CPU goes on. */
mem_ps mem_sys_send_wc_buffers(MemSys *m, mem_ps at_ps);
/* The rest of one that missed; returns when the CPU goes on, and whether the line was dirty. */
mem_ps mem_sys_beyond_l1(MemSys *m, const MemL1Miss *miss, mem_ps at_ps, bool *dirty);
struct MemPosted *mem_sys_posted_new(uint32_t l1_slots);
void mem_sys_posted_free(struct MemPosted *p);

/* Every address passes here, so that no level has to look at the size of a tag. */
static inline uint64_t mem_sys_line(const MemSys *m, uint64_t hpa) {
    assert(hpa >> LINE_SHIFT < m->cpu.line_end); /* the size of an address space sees to it */
    return hpa >> LINE_SHIFT;
}

/* A line left L1, or may not be written without telling the model any more. */
static inline void mem_sys_drop_slot(MemSys *m, uint32_t slot) {
    if (slot != MEM_NO_SLOT) {
        m->callbacks.l1_slot_dropped(m->callbacks.opaque, slot);
    }
}

/*
 * The L1's part of an access; returns whether it missed. `*dirtied`: a store hit a clean line. That a victim's slot
 * was dropped the caller has to say, who may have a shorter way than mem_sys_drop_slot().
 */
static inline bool mem_sys_access_l1(MemSys *m, uint64_t line, bool store, MemL1Miss *miss, bool *dirtied) {
    MemL1Access access = mem_cpu_access_l1(&m->cpu, line, store);

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
