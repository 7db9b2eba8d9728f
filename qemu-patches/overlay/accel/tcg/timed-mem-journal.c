/*
 * Timed memory: reports to the journal the events that matter to durability.
 *
 * Usually a store to a line in L1 does not come here, because translated code
 * finds the line in the line tables. With a journal, entries for stores to a
 * device's lines carry a mark that makes translated code miss them. The
 * functions below report such a store to the journal but not to the model, as
 * if translated code had found the line. So the model sees, counts and charges
 * the same with a journal as without.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/cputlb.h"
#include "exec/translation-block.h"
#include "tcg/insn-start-words.h"
#include "tcg/tcg.h"
#include "tcg/tcg-ldst.h"
#include "timed-mem-internal.h"

/*
 * A bit of the offset in a line. Translated code compares the line and the
 * alignment bits of an address. No access requires more alignment than half a
 * line, so this bit is clear in the compared value, and an entry with it never
 * matches.
 */
#define LINE_JOURNALLED (1 << (TIMED_MEM_LINE_BITS - 1))

TimedMemJournal *timed_mem_journal;

vaddr timed_mem_guest_pc(CPUState *cpu, uintptr_t ra)
{
    const CPUX86State *env = cpu_env(cpu);
    const uint64_t pc = env->eip + env->segs[R_CS].base;
    uint64_t data[TARGET_INSN_START_WORDS];

    if (!ra || !cpu_unwind_state_data(cpu, ra, data)) {
        return pc;
    }
    /* As in the restore_state_to_opc hook of x86. */
    return tcg_cflags_has(cpu, CF_PCREL) ? (pc & TARGET_PAGE_MASK) | data[0]
                                         : data[0];
}

uint64_t timed_mem_executed(CPUState *cpu)
{
    return timers_state.qemu_icount + icount_get_executed(cpu);
}

/* CR3 without the bits that control the TLB: PCID and no-flush. */
hwaddr timed_mem_page_table(CPUState *cpu)
{
    return cpu_env(cpu)->cr[3] & MAKE_64BIT_MASK(12, 40);
}

void timed_mem_journal_line(CPUState *cpu, int mmu_idx, vaddr addr,
                            hwaddr paddr)
{
    CPUTLBEntry *entry = timed_mem_line_entry(cpu, mmu_idx, addr, true);

    if (!memsys_is_local(timed_mem_model, paddr)) {
        entry->addr_write |= LINE_JOURNALLED;
        /* No instruction is fetched by these tables: addr_code is free. */
        entry->addr_code = paddr & TIMED_MEM_LINE_MASK;
    }
}

/*
 * Report a store to a marked line, and return the host address of its bytes.
 * NULL if translated code would have missed the line without the mark, too: the
 * checks of the address are the same.
 */
static void *journalled(CPUState *cpu, vaddr addr, MemOpIdx oi, int size,
                        uintptr_t ra)
{
    const CPUTLBEntry *entry = timed_mem_line_entry(cpu, get_mmuidx(oi), addr,
                                                    true);
    vaddr aligned = (1 << memop_alignment_bits(get_memop(oi))) - 1;

    if (entry->addr_write != ((addr & TIMED_MEM_LINE_MASK) | LINE_JOURNALLED) ||
        (addr & aligned) || !timed_mem_in_one_line(addr, size)) {
        return NULL;
    }
    timed_mem_journal(cpu, MEM_JOURNAL_STORE, 0,
                      entry->addr_code | (addr & ~TIMED_MEM_LINE_MASK), size,
                      ra);
    return (void *)(uintptr_t)(addr + entry->addend);
}

static inline uint8_t same8(uint8_t value)
{
    return value;
}

/* Used as timed_mem_st_helpers; a miss takes the general slow path. */
#define JOURNALLED_STORE(NAME, TYPE, UNSIGNED, SIZE, SWAP)                    \
    static void journalled_##NAME(CPUArchState *env, uint64_t addr,           \
                                  TYPE value, MemOpIdx oi, uintptr_t ra)      \
    {                                                                         \
        void *to = journalled(env_cpu(env), addr, oi, SIZE, ra);              \
        UNSIGNED stored = value;                                              \
                                                                              \
        if (!to) {                                                            \
            helper_##NAME##_mmu(env, addr, value, oi, ra);                    \
            return;                                                           \
        }                                                                     \
        if (get_memop(oi) & MO_BSWAP) {                                       \
            stored = SWAP(stored);                                            \
        }                                                                     \
        memcpy(to, &stored, sizeof(stored));                                  \
    }

JOURNALLED_STORE(stb, uint32_t, uint8_t, 1, same8)
JOURNALLED_STORE(stw, uint32_t, uint16_t, 2, bswap16)
JOURNALLED_STORE(stl, uint32_t, uint32_t, 4, bswap32)
JOURNALLED_STORE(stq, uint64_t, uint64_t, 8, bswap64)
JOURNALLED_STORE(st16, Int128, Int128, 16, bswap128)

static void *const journalled_st_helpers[MO_SIZE + 1] = {
    [MO_8] = journalled_stb,
    [MO_16] = journalled_stw,
    [MO_32] = journalled_stl,
    [MO_64] = journalled_stq,
    [MO_128] = journalled_st16,
};

void timed_mem_set_journal(TimedMemJournal *journal)
{
    assert(!timed_mem_lines_in_use);
    timed_mem_journal = journal;
    timed_mem_st_helpers = journalled_st_helpers;
}
