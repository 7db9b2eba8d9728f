/*
 * Timed memory: guest accesses told to a memory timing model.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pages whose TLB entries carry TLB_TIMED take the slow path, which asks the
 * model how long the vCPU stalls and charges that to the virtual clock. Within
 * a region of interest (ROI) all RAM is timed; outside it only the device's
 * window is, untimed but tracked, so that its persistence state is never lost.
 *
 * In an ROI, translated code looks up 64-byte lines instead of pages, in a
 * small direct-mapped table that holds only lines that the model has in L1.
 * An L1 hit therefore runs at the speed of any RAM access, and by the model's
 * rules (FIFO L1, a hit costs nothing but its instruction) changes nothing
 * that the model would have to know.
 */
#ifndef EXEC_TIMED_MEM_H
#define EXEC_TIMED_MEM_H

#include "exec/hwaddr.h"
#include "exec/memopidx.h"
#include "exec/mmu-access-type.h"
#include "exec/vaddr.h"
#include "hw/core/cpu.h"
#include "hw/mem/memsys/memsys.h"
#include "hw/mem/memsys/trace/mem_journal.h"

/*
 * The line tables take the places of the MMU indexes from this one on in
 * CPUTLB::f, which no x86 CPU uses; MMU indexes below TIMED_MEM_DATA_MODES
 * translate data accesses of the guest (page walks lie above it).
 *
 * A load of MMU index i looks in table i, a store in table i ^ 1, so that a
 * copy between buffers at equal offsets does not thrash. Indexes come in
 * pairs, of 64-bit and of 32-bit code; sharing a pair's tables is sound
 * because a load entry has only addr_read and a store entry only addr_write.
 */
#define TIMED_MEM_MMU_MODES   8
#define TIMED_MEM_DATA_MODES  6

#define TIMED_MEM_LINE_BITS   6
#define TIMED_MEM_LINE_MASK   (-(1 << TIMED_MEM_LINE_BITS))

/* Entries of a line table: the lines of a 32 KiB L1D. */
#define TIMED_MEM_LINES       512

typedef enum TimedMemMode {
    TIMED_MEM_OFF,          /* no model attached */
    TIMED_MEM_DEVICE,       /* the device's window, untimed */
    TIMED_MEM_ALL,          /* all RAM, timed */
} TimedMemMode;

extern TimedMemMode timed_mem_mode;
extern bool timed_mem_lines_in_use;

/*
 * The model's side
 */

/*
 * Use @memsys, which must tell timed_mem_l1_slot_dropped() of the slots of its
 * L1s, and timed_mem_l1_slot_shared(). Its cores are the vCPUs by their index.
 * @posted: with a thread of its own for accesses to local DRAM, of one vCPU.
 */
void timed_mem_attach(MemSys *memsys, bool posted);
MemSys *timed_mem_memsys(void);
void timed_mem_l1_slot_dropped(void *opaque, uint32_t core, uint32_t slot);
void timed_mem_l1_slot_shared(void *opaque, uint32_t core, uint32_t slot);

/* Begin or end a region of interest; not while @cpu runs guest code. */
void timed_mem_set_roi(CPUState *cpu, bool on);

/* Virtual time for a call of the model, in any context of the vCPU thread. */
mem_ps timed_mem_now_ps(void);

/*
 * The doorbell: CPUID with this leaf in EAX, an operation in ECX and an
 * argument in EBX answers with @reply in EBX, ECX and EDX. NULL while nobody
 * listens.
 */
#define TIMED_MEM_DOORBELL_LEAF 0x4358534c /* "CXSL" */

typedef void TimedMemDoorbell(CPUState *cpu, uint32_t op, uint32_t arg,
                              uint32_t reply[3]);
extern TimedMemDoorbell *timed_mem_doorbell;

/*
 * The journal: told, in the order of execution, of what @cpu does that matters
 * to the durability of the devices' lines, and of no more. What it does reaches
 * no result. @value is that of a record of the kind. A store or a flush is to
 * @paddr, of a device; @size bytes of a store are there at the next event. @ra
 * is of use before it returns, for timed_mem_guest_pc().
 */
typedef void TimedMemJournal(CPUState *cpu, MemJournalKind kind, uint32_t value,
                             hwaddr paddr, int size, uintptr_t ra);
extern TimedMemJournal *timed_mem_journal; /* NULL: there is none */

/* There is one, before the first region of interest and for good. */
void timed_mem_set_journal(TimedMemJournal *journal);

/*
 * Told of what the guest's loads and stores do to the devices' bytes, as far
 * as it matters to which of them the guest has read: each byte's first load is
 * told of, and so are stores, but not all of them. What it does reaches no
 * result. An access may be told of twice.
 */
typedef void TimedMemReads(hwaddr paddr, int size, bool store);
extern TimedMemReads *timed_mem_reads; /* NULL: nobody listens */

/* Somebody does, from now on; not in a region of interest. */
void timed_mem_set_reads(TimedMemReads *reads);

/*
 * Poison: asked before a load takes @size bytes of a device's window at @paddr
 * whether one of their lines is poisoned, and which; told of non-temporal
 * stores, which heal a line once they have written all of it. A load of poison
 * ends in a machine check, if the guest's CPU knows those that it can survive.
 * Not asked: code and page tables that lie on a device.
 */
typedef struct TimedMemPoison {
    bool (*load)(hwaddr paddr, int size, hwaddr *poisoned);
    void (*nt_store)(hwaddr paddr, int size);
} TimedMemPoison;
extern const TimedMemPoison *timed_mem_poison; /* NULL: no line has any */

/* Some lines have, or other ones than before, or none (NULL) from now on. */
void timed_mem_set_poison(const TimedMemPoison *poison);

/* Whether there is translated code of this RAM. */
bool timed_mem_has_code(MemoryRegion *ram);

/* Of the instruction whose code is at @ra; 0: not in translated code. */
vaddr timed_mem_guest_pc(CPUState *cpu, uintptr_t ra);
/* Instructions, up to the end of the block: one of them is at a guest's PC. */
uint64_t timed_mem_executed(CPUState *cpu);
/* What tells processes apart: where their page table is. */
hwaddr timed_mem_page_table(CPUState *cpu);

/* Tell it, if there is one. */
static inline void timed_mem_tell(CPUState *cpu, MemJournalKind kind,
                                  uint32_t value, uintptr_t ra)
{
    if (unlikely(timed_mem_journal)) {
        timed_mem_journal(cpu, kind, value, 0, 0, ra);
    }
}

/*
 * How the guest maps persistent memory, and what its kernel flushes of it,
 * since somebody zeroed this. Counting takes the guest no time.
 */
typedef struct TimedMemMappings {
    uint64_t page_faults_4k; /* after which a page of 4 KiB is mapped */
    uint64_t page_faults_2m; /* the same of larger pages */
    uint64_t kernel_flushes; /* CLWB, CLFLUSHOPT and CLFLUSH in kernel mode */
    uint64_t sync_calls;     /* msync(), fsync() and their kin */
} TimedMemMappings;
extern TimedMemMappings timed_mem_mappings;

/*
 * TCG's side
 */

/* A page fault is raised, and later a translation of the page is found. */
void timed_mem_page_fault(CPUState *cpu, vaddr addr);
void timed_mem_page_mapped(CPUState *cpu, vaddr addr, hwaddr paddr,
                           uint64_t size, int mmu_idx);
/* The kernel flushes a line. */
void timed_mem_kernel_flush(hwaddr paddr);
/* A process calls the kernel. */
void timed_mem_system_call(uint32_t number);

/* Whether the TLB entry of a page of RAM is to carry TLB_TIMED. */
bool timed_mem_page_timed(hwaddr paddr, int mmu_idx);

/*
 * An access to RAM of @size bytes at @addr, about to happen. This and what
 * follows may leave the block of @ra, to come again: see vcpu-clocks.h.
 */
void timed_mem_access(CPUState *cpu, const CPUTLBEntryFull *full, vaddr addr,
                      int size, MMUAccessType type, uintptr_t ra);

/* A load that timed_mem_access() is told of as a store, since it is both. */
void timed_mem_locked_load(CPUState *cpu, const CPUTLBEntryFull *full,
                           vaddr addr, int size, uintptr_t ra);

/*
 * The access just told to timed_mem_access() is to host memory at @haddr: let
 * translated code find it in the line table, if it lies in one line in L1.
 */
void timed_mem_remember_line(CPUState *cpu, int mmu_idx, vaddr addr, int size,
                             void *haddr, MMUAccessType type);

/*
 * What translated code calls in an ROI in place of helper_ld*_mmu() and
 * helper_st*_mmu() of tcg/tcg-ldst.h, by MO_SIZE.
 */
extern void *const *timed_mem_ld_helpers; /* NULL: those of tcg-ldst.h */
extern void *const *timed_mem_st_helpers;

/* A translation changed: forget all lines, or those of one page. */
void timed_mem_forget_lines(CPUState *cpu);
void timed_mem_forget_page(CPUState *cpu, vaddr page);

/* Instructions other than loads and stores; the addresses are physical. */
void timed_mem_nt_store(CPUState *cpu, hwaddr paddr, int size, uintptr_t ra);
void timed_mem_flush(CPUState *cpu, hwaddr paddr, MemFlushKind kind,
                     uintptr_t ra);
void timed_mem_fence(CPUState *cpu, MemFenceKind kind, uintptr_t ra);
void timed_mem_wbinvd(CPUState *cpu, uintptr_t ra);
void timed_mem_pause(CPUState *cpu);
void timed_mem_insn(CPUState *cpu, MemInsn insn, uintptr_t ra);

/*
 * One iteration of MOVS, STOS or LODS with REP, of @size bytes. TCG counts it
 * as an instruction, a CPU moves TIMED_MEM_REP_BYTES in the time of one: 32
 * bytes a cycle (Intel optimisation manual, fast strings) at two instructions.
 */
#define TIMED_MEM_REP_BYTES 16

void timed_mem_repeat(CPUState *cpu, int size);

#endif
