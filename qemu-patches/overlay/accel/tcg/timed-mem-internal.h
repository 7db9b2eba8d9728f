/*
 * Timed memory: declarations shared by its source files, and the code on the
 * path of every miss of the guest, which is inlined into the accesses.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ACCEL_TCG_TIMED_MEM_INTERNAL_H
#define ACCEL_TCG_TIMED_MEM_INTERNAL_H

#include "exec/timed-mem.h"
#include "exec/tlb-common.h"
#include "hw/mem/memsys/posted.h"
#include "system/cpu-timers-internal.h"
#include "system/vcpu-clocks.h"

/* The line tables of a vCPU: the entry of each slot of L1. */
typedef struct TimedMemLines {
    CPUTLBEntry *(*of_slot)[2]; /* for loads, for stores; or NULL */
    uint32_t last_slot;   /* slot of the last access, or MEM_NO_SLOT */
    hwaddr last_paddr;    /* address of the last store of timed_mem_access() */
    uint32_t tables_used; /* bit i: the table of MMU index i has lines */
} TimedMemLines;

/* The state of posting a vCPU's accesses. */
typedef struct TimedMemPosting {
    bool active; /* accesses are posted, their stalls owed */
    int left;    /* posts left for which stalls are reserved */
    int most;    /* the value of left when posting began */
    int direct;  /* accesses before posting may begin again */
} TimedMemPosting;

/* The state of a vCPU in timed memory, except its clock and its tables. */
typedef struct TimedMemVCPU {
    TimedMemLines lines;
    TimedMemPosting posting;
    int nt_bytes;  /* of a non-temporal store, not yet written */
    int rep_bytes; /* moved since an iteration last took time */
} TimedMemVCPU;

/* By vCPU index, which is also the number of the core in the model. */
extern TimedMemVCPU timed_mem_vcpus[VCPU_CLOCKS_MAX];
/* Other files call timed_mem_memsys(), which settles posted accesses first. */
extern MemSys *timed_mem_model;

static inline TimedMemVCPU *timed_mem_vcpu(CPUState *cpu)
{
    /* On the path of every miss: with one vCPU the index is not loaded. */
    return likely(!vcpu_clocks_on) ? &timed_mem_vcpus[0]
                                   : &timed_mem_vcpus[cpu->cpu_index];
}

/*
 * Line tables: timed-mem-lines.c
 */

/* Allocate room for the lines of @slots slots of L1. */
void timed_mem_lines_new(TimedMemLines *lines, uint32_t slots);
/* A region of interest begins: set up empty tables. */
void timed_mem_lines_begin(TimedMemLines *lines, CPUState *cpu);

static inline CPUTLBEntry *timed_mem_line_table(CPUState *cpu, int mmu_idx)
{
    return cpu->neg.tlb.f[TIMED_MEM_MMU_MODES + mmu_idx].table;
}

/* The entry in which the line of a load or store would be. */
static inline CPUTLBEntry *timed_mem_line_entry(CPUState *cpu, int mmu_idx,
                                                vaddr addr, bool store)
{
    return &timed_mem_line_table(cpu, mmu_idx ^ store)
        [(addr >> TIMED_MEM_LINE_BITS) % TIMED_MEM_LINES];
}

/* No other field needs a reset: all are used only after a match of these. */
static inline void timed_mem_forget_line(CPUTLBEntry **of_slot)
{
    if (*of_slot) {
        (*of_slot)->addr_read = -1;
        (*of_slot)->addr_write = -1;
        *of_slot = NULL;
    }
}

static inline void timed_mem_forget_slot(TimedMemLines *lines, uint32_t slot)
{
    timed_mem_forget_line(&lines->of_slot[slot][0]);
    timed_mem_forget_line(&lines->of_slot[slot][1]);
}

static inline bool timed_mem_in_one_line(vaddr addr, int size)
{
    return (addr & ~TIMED_MEM_LINE_MASK) + size <= MEMSYS_LINE_BYTES;
}

/* Let translated code find the line of the last access, in slot last_slot. */
static inline void timed_mem_add_line(TimedMemLines *lines, CPUState *cpu,
                                      int mmu_idx, vaddr addr,
                                      uintptr_t addend, bool store)
{
    vaddr line = addr & TIMED_MEM_LINE_MASK;
    CPUTLBEntry *entry = timed_mem_line_entry(cpu, mmu_idx, addr, store);
    /* One entry for each slot and kind, found when the slot is dropped. */
    CPUTLBEntry **of_slot = &lines->of_slot[lines->last_slot][store];

    if (*of_slot != entry) {
        timed_mem_forget_line(of_slot);
        *of_slot = entry;
    }
    entry->addr_read = store ? -1 : line;
    entry->addr_write = store ? line : -1;
    entry->addend = addend;
    lines->tables_used |= 1u << (mmu_idx ^ store);
}

/*
 * The journal: timed-mem-journal.c
 */

/*
 * Mark the entry that was just added for a store to @addr, so that the journal
 * receives further stores to its line.
 */
void timed_mem_journal_line(CPUState *cpu, int mmu_idx, vaddr addr,
                            hwaddr paddr);

/* Report a store or a flush to a device to the journal, if there is one. */
static inline void timed_mem_tell_access(CPUState *cpu, MemJournalKind kind,
                                         uint32_t value, hwaddr paddr, int size,
                                         uintptr_t ra)
{
    if (unlikely(timed_mem_journal) &&
        mem_memory_window(&timed_mem_model->memory, paddr)) {
        timed_mem_journal(cpu, kind, value, paddr, size, ra);
    }
}

/*
 * Posting: timed-mem-post.c. A separate thread does the model's work on
 * accesses to local DRAM while the vCPU goes on. The stalls are charged when
 * the clock is read. Until then an upper bound is reserved in the vCPU's
 * budget, so that no event is late, and the guest sees no difference.
 */

/*
 * Let accesses be posted from now on, and start the thread that works on them.
 * For a machine with one vCPU.
 */
void timed_mem_start_posting(void);
/* Wait until all posted accesses are done, and charge their stalls. */
void timed_mem_settle(CPUState *cpu);
/* Whether accesses may be posted from now on; if so, sets posting->left. */
bool timed_mem_begin_posting(TimedMemPosting *posting, CPUState *cpu);
/* The helper is far behind: retry memsys_post() up to SETTLE_LOOKS times. */
bool timed_mem_post_later(hwaddr paddr, bool store, mem_ps now_ps,
                          uint32_t *slot, bool *missed);

/* Post an access; false if it cannot be posted, such as one to a device. */
static inline bool timed_mem_post(TimedMemVCPU *vcpu, CPUState *cpu,
                                  hwaddr paddr, bool store)
{
    TimedMemPosting *posting = &vcpu->posting;
    uint32_t *slot = &vcpu->lines.last_slot;
    mem_ps now_ps;
    bool missed;

    if (mem_memory_window(&timed_mem_model->memory, paddr) ||
        (unlikely(!posting->left) &&
         (!icount_settle_stalls || !timed_mem_begin_posting(posting, cpu)))) {
        return false;
    }
    now_ps = icount_now_ps(cpu);
    if (unlikely(!mem_sys_post(timed_mem_model, paddr, store, now_ps, slot,
                               &missed)) &&
        !timed_mem_post_later(paddr, store, now_ps, slot, &missed)) {
        return false;
    }
    if (missed) {
        timed_mem_forget_slot(&vcpu->lines, *slot);
    }
    posting->left--;
    return true;
}

#endif
