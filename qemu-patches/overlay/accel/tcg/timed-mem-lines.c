/*
 * Timed memory: the tables in which translated code finds the lines in L1.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "timed-mem-internal.h"

QEMU_BUILD_BUG_ON(TIMED_MEM_MMU_MODES + TIMED_MEM_DATA_MODES > NB_MMU_MODES);

bool timed_mem_lines_in_use;

void timed_mem_lines_new(TimedMemLines *lines, uint32_t slots)
{
    lines->of_slot = g_malloc0_n(slots, sizeof(*lines->of_slot));
    lines->last_slot = MEM_NO_SLOT;
}

/* Replace the tables of the unused MMU indexes by tables of a fixed size. */
void timed_mem_lines_begin(TimedMemLines *lines, CPUState *cpu)
{
    const uintptr_t mask = (TIMED_MEM_LINES - 1) << CPU_TLB_ENTRY_BITS;

    for (int i = 0; i < TIMED_MEM_DATA_MODES; i++) {
        CPUTLBDescFast *fast = &cpu->neg.tlb.f[TIMED_MEM_MMU_MODES + i];

        if (fast->mask != mask) {
            g_free(fast->table);
            fast->table = g_new(CPUTLBEntry, TIMED_MEM_LINES);
            fast->mask = mask;
        }
    }
    lines->tables_used = MAKE_64BIT_MASK(0, TIMED_MEM_DATA_MODES);
    timed_mem_forget_lines(cpu);
}

void timed_mem_forget_lines(CPUState *cpu)
{
    TimedMemLines *lines = &timed_mem_vcpu(cpu)->lines;

    while (lines->tables_used) {
        int i = ctz32(lines->tables_used);

        memset(timed_mem_line_table(cpu, i), -1,
               TIMED_MEM_LINES * sizeof(CPUTLBEntry));
        lines->tables_used &= lines->tables_used - 1;
    }
}

void timed_mem_forget_page(CPUState *cpu, vaddr page)
{
    const int lines = 4096 >> TIMED_MEM_LINE_BITS;
    int first = (page >> TIMED_MEM_LINE_BITS) % TIMED_MEM_LINES;

    for (uint32_t used = timed_mem_vcpu(cpu)->lines.tables_used; used;
         used &= used - 1) {
        memset(timed_mem_line_table(cpu, ctz32(used)) + first, -1,
               lines * sizeof(CPUTLBEntry));
    }
}

void timed_mem_l1_slot_dropped(void *opaque, uint32_t core, uint32_t slot)
{
    timed_mem_forget_slot(&timed_mem_vcpus[core].lines, slot);
}

/* Loads still find the line, but stores are reported to the model again. */
void timed_mem_l1_slot_shared(void *opaque, uint32_t core, uint32_t slot)
{
    timed_mem_forget_line(&timed_mem_vcpus[core].lines.of_slot[slot][1]);
}

void timed_mem_remember_line(CPUState *cpu, int mmu_idx, vaddr addr, int size,
                             void *haddr, MMUAccessType type)
{
    TimedMemLines *lines = &timed_mem_vcpu(cpu)->lines;

    if (timed_mem_lines_in_use && lines->last_slot != MEM_NO_SLOT &&
        timed_mem_in_one_line(addr, size)) {
        timed_mem_add_line(lines, cpu, mmu_idx, addr, (uintptr_t)haddr - addr,
                           type == MMU_DATA_STORE);
        if (unlikely(timed_mem_journal) && type == MMU_DATA_STORE) {
            timed_mem_journal_line(cpu, mmu_idx, addr, lines->last_paddr);
        }
    }
}
