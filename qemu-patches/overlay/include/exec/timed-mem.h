/*
 * Timed memory: reports guest accesses to a memory timing model.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An access to a page with TLB_TIMED in its TLB entry takes the slow path,
 * which asks the model for the vCPU's stall and charges it to the virtual
 * clock. Within a region of interest (ROI) all RAM is timed. Outside it only
 * the device's window is tracked, without timing, so that its persistence state
 * is never lost.
 *
 * In an ROI, translated code looks up 64-byte lines instead of pages, in a
 * small direct-mapped table that contains only lines that the model has in L1.
 * An L1 hit therefore runs at the speed of any RAM access. By the model's rules
 * (FIFO L1, a hit costs nothing but its instruction) a hit changes nothing in
 * the model.
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
 * In CPUTLB::f, the line tables replace the MMU indexes from this one on, which
 * no x86 CPU uses. MMU indexes below TIMED_MEM_DATA_MODES translate data
 * accesses of the guest (page walks are above it).
 *
 * A load of MMU index i uses table i, a store uses table i ^ 1, so that a copy
 * between buffers at equal offsets does not thrash. Indexes come in pairs, for
 * 64-bit and for 32-bit code. The pair can share its tables because a load
 * entry has only addr_read and a store entry only addr_write.
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
 * Use the model @memsys. Its callbacks must call timed_mem_l1_slot_dropped()
 * and timed_mem_l1_slot_shared(). The number of a core is the index of its
 * vCPU. @posted: a separate thread works on accesses to local DRAM; for one
 * vCPU only.
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
 * argument in EBX returns @reply in EBX, ECX and EDX. NULL: the leaf has no
 * effect.
 */
#define TIMED_MEM_DOORBELL_LEAF 0x4358534c /* "CXSL" */

typedef void TimedMemDoorbell(CPUState *cpu, uint32_t op, uint32_t arg,
                              uint32_t reply[3]);
extern TimedMemDoorbell *timed_mem_doorbell;

/*
 * The journal: receives, in the order of execution, the events of @cpu that
 * matter to the durability of the devices' lines, and no others. The function
 * must not influence any result. @value is the value of a record of this kind
 * (mem_journal.h). A store or a flush is to @paddr, on a device. The @size
 * bytes of a store are in memory at the next event, not yet at this one. @ra is
 * valid during the call, for timed_mem_guest_pc().
 */
typedef void TimedMemJournal(CPUState *cpu, MemJournalKind kind, uint32_t value,
                             hwaddr paddr, int size, uintptr_t ra);
extern TimedMemJournal *timed_mem_journal; /* NULL: no journal */

/* Set the journal, before the first region of interest and for good. */
void timed_mem_set_journal(TimedMemJournal *journal);

/*
 * Receives the guest's loads and stores of the devices' bytes, as far as they
 * decide which bytes the guest has read: the first load of each byte (in a
 * region of interest, of each line), and some of the stores. The function may
 * receive an access twice, and must not influence any result.
 */
typedef void TimedMemReads(hwaddr paddr, int size, bool store);
extern TimedMemReads *timed_mem_reads; /* NULL: no receiver */

/* Set the receiver, from now on; not in a region of interest. */
void timed_mem_set_reads(TimedMemReads *reads);

/*
 * Poison. load() is called before a load of @size bytes of a device's window at
 * @paddr, and returns whether one of their lines is poisoned, and its address.
 * nt_store() is called for non-temporal stores, which heal a line once they
 * have written all of it. A load of poison ends in a machine check if the
 * guest's CPU can recover from it (SUCCOR). Instruction fetches and page walks
 * on a device are not checked.
 */
typedef struct TimedMemPoison {
    bool (*load)(hwaddr paddr, int size, hwaddr *poisoned);
    void (*nt_store)(hwaddr paddr, int size);
} TimedMemPoison;
extern const TimedMemPoison *timed_mem_poison; /* NULL: no line is poisoned */

/* The set of poisoned lines has changed; NULL: it is empty. */
void timed_mem_set_poison(const TimedMemPoison *poison);

/* Whether this RAM contains translated code. */
bool timed_mem_has_code(MemoryRegion *ram);

/* The guest's PC for the host address @ra; 0: not in translated code. */
vaddr timed_mem_guest_pc(CPUState *cpu, uintptr_t ra);
/*
 * Instructions up to the end of the current block. With the guest's PC, the
 * count identifies one execution of an instruction.
 */
uint64_t timed_mem_executed(CPUState *cpu);
/* The address of the page table, which identifies the process. */
hwaddr timed_mem_page_table(CPUState *cpu);

/* Report an event to the journal, if there is one. */
static inline void timed_mem_tell(CPUState *cpu, MemJournalKind kind,
                                  uint32_t value, uintptr_t ra)
{
    if (unlikely(timed_mem_journal)) {
        timed_mem_journal(cpu, kind, value, 0, 0, ra);
    }
}

/*
 * Counters, since they were last zeroed: how the guest maps persistent memory,
 * and how many of its lines the kernel flushes. Counting takes no virtual time.
 */
typedef struct TimedMemMappings {
    uint64_t page_faults_4k; /* page faults that map a page of 4 KiB */
    uint64_t page_faults_2m; /* page faults that map a larger page */
    uint64_t kernel_flushes; /* CLWB, CLFLUSHOPT and CLFLUSH in kernel mode */
    uint64_t sync_calls;     /* msync(), fsync() and similar calls */
} TimedMemMappings;
extern TimedMemMappings timed_mem_mappings;

/*
 * TCG's side
 */

/* A page fault is raised; later a translation of the page is found. */
void timed_mem_page_fault(CPUState *cpu, vaddr addr);
void timed_mem_page_mapped(CPUState *cpu, vaddr addr, hwaddr paddr,
                           uint64_t size, int mmu_idx);
/* The guest's kernel flushes the line of @paddr. */
void timed_mem_kernel_flush(hwaddr paddr);
/* A process makes a system call. */
void timed_mem_system_call(uint32_t number);

/* Whether the TLB entry of a page of RAM must carry TLB_TIMED. */
bool timed_mem_page_timed(hwaddr paddr, int mmu_idx);

/*
 * An access to RAM of @size bytes at @addr, about to happen. As the functions
 * below, the call may leave the block of @ra and execute the instruction again
 * later: see vcpu-clocks.h.
 */
void timed_mem_access(CPUState *cpu, const CPUTLBEntryFull *full, vaddr addr,
                      int size, MMUAccessType type, uintptr_t ra);

/*
 * Check the load of a locked instruction for poison; timed_mem_access()
 * receives such an instruction as a store.
 */
void timed_mem_locked_load(CPUState *cpu, const CPUTLBEntryFull *full,
                           vaddr addr, int size, uintptr_t ra);

/*
 * @haddr: the host address of the last access that timed_mem_access() received.
 * Let translated code find its line in the line table, if the access is within
 * one line and the line is in L1.
 */
void timed_mem_remember_line(CPUState *cpu, int mmu_idx, vaddr addr, int size,
                             void *haddr, MMUAccessType type);

/*
 * Functions that translated code calls in an ROI in place of helper_ld*_mmu()
 * and helper_st*_mmu() of tcg/tcg-ldst.h, by MO_SIZE.
 */
extern void *const *timed_mem_ld_helpers; /* NULL: use tcg-ldst.h */
extern void *const *timed_mem_st_helpers;

/* A translation changed: forget all lines, or the lines of one page. */
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
 * as an instruction. A CPU moves TIMED_MEM_REP_BYTES in the time of an
 * instruction: 32 bytes a cycle (Intel optimisation manual, fast strings) at
 * two instructions a cycle.
 */
#define TIMED_MEM_REP_BYTES 16

void timed_mem_repeat(CPUState *cpu, int size);

#endif
