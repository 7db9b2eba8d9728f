/*
 * Timed memory: guest accesses told to a memory timing model.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/cputlb.h"
#include "exec/tb-flush.h"
#include "exec/timed-mem.h"
#include "exec/tlb-common.h"
#include "hw/mem/memsys/posted.h"
#include "system/cpu-timers-internal.h"
#include "tcg/tcg.h"
#include "tcg/tcg-ldst.h"

QEMU_BUILD_BUG_ON(TIMED_MEM_MMU_MODES + TIMED_MEM_DATA_MODES > NB_MMU_MODES);

TimedMemMode timed_mem_mode;
bool timed_mem_lines_in_use;
TimedMemRange timed_mem_windows[MEMSYS_MAX_WINDOWS];
int timed_mem_window_count;
TimedMemDoorbell *timed_mem_doorbell;

static struct {
    MemSys *memsys;
    CPUTLBEntry *(*line_of_slot)[2]; /* for loads, for stores; or NULL */
    uint32_t last_slot;   /* of the last access, or MEM_NO_SLOT */
    uint32_t tables_used; /* bit i: the table of MMU index i has lines */
    int nt_bytes;         /* of a non-temporal store still to come */
    int rep_bytes;        /* moved since an iteration took its time */
    bool posting;         /* accesses are posted, their stalls owed */
    int posts_left;       /* so many more stalls are kept from the budget */
    int posts_max;        /* when posting began */
    int direct;           /* accesses before posting may begin again */
} tm = { .last_slot = MEM_NO_SLOT };

/* Nothing else is ever set, but the addend, which only a hit uses. */
static inline void entry_clear(CPUTLBEntry *entry)
{
    entry->addr_read = -1;
    entry->addr_write = -1;
}

static inline void line_forget(CPUTLBEntry **of_slot)
{
    if (*of_slot) {
        entry_clear(*of_slot);
        *of_slot = NULL;
    }
}

static inline void slot_forget(uint32_t slot)
{
    line_forget(&tm.line_of_slot[slot][0]);
    line_forget(&tm.line_of_slot[slot][1]);
}

/*
 * Posting: the model's work on accesses to local DRAM is left to a thread of
 * its own while the vCPU goes on. What they stall is charged when the clock is
 * read, and until then kept from the budget, so that no event comes late: the
 * guest cannot tell.
 */

/* As many posts at once as the time to the next event lets, of these. */
#define MOST_POSTS       8192
#define LEAST_POSTS      512
/* After so few posts it was not worth it: answer the next ones directly. */
#define WORTHWHILE_POSTS 16
#define DIRECT_ACCESSES  64
/* Looks for work before the helper goes to sleep. */
#define HELPER_LOOKS     20000
/* After so many looks at a helper that does not end, others need the host. */
#define SETTLE_LOOKS     20000
#define BACK_OFF_ACCESSES (1 << 17)

static struct {
    QemuThread thread;
    QemuEvent work;
    bool asleep;
} helper;

/* Not by way of tm, whose line the vCPU writes all the time. */
static void *helper_run(void *memsys)
{
    int looks = 0;

    for (;;) {
        if (memsys_run_posted(memsys)) {
            looks = 0;
        } else if (++looks < HELPER_LOOKS) {
            cpu_relax();
        } else {
            qemu_event_reset(&helper.work);
            qatomic_set(&helper.asleep, true);
            qemu_event_wait(&helper.work);
            qatomic_set(&helper.asleep, false);
            looks = 0;
        }
    }
    return NULL;
}

static void __attribute__((noinline)) settle(CPUState *cpu)
{
    mem_ps stall_ps;
    int looks = 0;

    if (!tm.posting) {
        return;
    }
    while (!memsys_settle(tm.memsys, &stall_ps)) {
        if (++looks < SETTLE_LOOKS) {
            cpu_relax();
        } else {
            sched_yield();
        }
    }
    tm.posting = false;
    tm.direct = looks >= SETTLE_LOOKS ? BACK_OFF_ACCESSES
        : tm.posts_max - tm.posts_left < WORTHWHILE_POSTS ? DIRECT_ACCESSES
        : 0;
    tm.posts_left = 0;
    icount_charge_ps(cpu, stall_ps);
}

static void wake_helper(void)
{
    if (qatomic_read(&helper.asleep)) {
        qemu_event_set(&helper.work);
    }
}

static bool __attribute__((noinline)) begin_posting(CPUState *cpu)
{
    if (tm.direct > 0) {
        tm.direct--;
        return false;
    }
    if (tm.posting || !memsys_may_post(tm.memsys)) {
        return false;
    }
    for (int posts = MOST_POSTS; posts >= LEAST_POSTS; posts /= 2) {
        if (icount_reserve_ps(cpu, memsys_post_bound(tm.memsys,
                                                     icount_now_ps(cpu),
                                                     posts))) {
            tm.posting = true;
            tm.posts_left = tm.posts_max = posts;
            wake_helper();
            return true;
        }
    }
    tm.direct = DIRECT_ACCESSES;
    return false;
}

/* The helper is far behind: post as soon as there is room. */
static bool __attribute__((noinline)) post_later(hwaddr paddr, bool store,
                                                 mem_ps now_ps, bool *missed)
{
    for (int looks = 0; looks < SETTLE_LOOKS; looks++) {
        wake_helper();
        cpu_relax();
        if (memsys_post(tm.memsys, paddr, store, now_ps, &tm.last_slot,
                        missed)) {
            return true;
        }
    }
    return false;
}

/* Post an access, if it is one that can be. */
static inline bool post(CPUState *cpu, hwaddr paddr, bool store)
{
    mem_ps now_ps;
    bool missed;

    if (timed_mem_in_window(paddr) ||
        (unlikely(!tm.posts_left) &&
         (!icount_settle_stalls || !begin_posting(cpu)))) {
        return false;
    }
    now_ps = icount_now_ps(cpu);
    if (unlikely(!mem_sys_post(tm.memsys, paddr, store, now_ps, &tm.last_slot,
                               &missed)) &&
        !post_later(paddr, store, now_ps, &missed)) {
        return false;
    }
    if (missed) {
        slot_forget(tm.last_slot);
    }
    tm.posts_left--;
    return true;
}

void timed_mem_attach(MemSys *memsys, bool posted)
{
    tm.memsys = memsys;
    tm.line_of_slot = g_malloc0_n(memsys_l1_slots(memsys),
                                  sizeof(*tm.line_of_slot));
    timed_mem_mode = TIMED_MEM_DEVICE;
    if (posted) {
        icount_settle_stalls = settle;
        qemu_event_init(&helper.work, false);
        qemu_thread_create(&helper.thread, "memsys", helper_run, memsys,
                           QEMU_THREAD_DETACHED);
    }
}

/* Whoever is given it, or the time, in the vCPU thread is to find all done. */
MemSys *timed_mem_memsys(void)
{
    if (current_cpu) {
        settle(current_cpu);
    }
    return tm.memsys;
}

mem_ps timed_mem_now_ps(void)
{
    if (current_cpu) {
        settle(current_cpu);
    }
    return icount_now_ps(current_cpu ? current_cpu : first_cpu);
}

void timed_mem_set_window(unsigned index, const MemWindow *window)
{
    memsys_map_window(tm.memsys, index, window, timed_mem_now_ps());
    timed_mem_windows[index] = (TimedMemRange) {
        .base = window->hpa, .size = window->size_bytes,
    };
    timed_mem_window_count = 0;
    for (int i = 0; i < MEMSYS_MAX_WINDOWS; i++) {
        if (timed_mem_windows[i].size) {
            timed_mem_window_count = i + 1;
        }
    }
}

/*
 * Line tables
 */

static CPUTLBEntry *line_table(CPUState *cpu, int mmu_idx)
{
    return cpu->neg.tlb.f[TIMED_MEM_MMU_MODES + mmu_idx].table;
}

/* The tables' fixed size replaces that of the unused MMU indexes. */
static void line_tables_init(CPUState *cpu)
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
    tm.tables_used = MAKE_64BIT_MASK(0, TIMED_MEM_DATA_MODES);
    timed_mem_forget_lines(cpu);
}

void timed_mem_forget_lines(CPUState *cpu)
{
    while (tm.tables_used) {
        int i = ctz32(tm.tables_used);

        memset(line_table(cpu, i), -1, TIMED_MEM_LINES * sizeof(CPUTLBEntry));
        tm.tables_used &= tm.tables_used - 1;
    }
}

void timed_mem_forget_page(CPUState *cpu, vaddr page)
{
    const int lines = 4096 >> TIMED_MEM_LINE_BITS;
    int first = (page >> TIMED_MEM_LINE_BITS) % TIMED_MEM_LINES;

    for (uint32_t used = tm.tables_used; used; used &= used - 1) {
        memset(line_table(cpu, ctz32(used)) + first, -1,
               lines * sizeof(CPUTLBEntry));
    }
}

void timed_mem_l1_slot_dropped(void *opaque, uint32_t slot)
{
    slot_forget(slot);
}

/* Let translated code find the line of the last access, whose slot is known. */
static inline void remember_line(CPUState *cpu, int mmu_idx, vaddr addr,
                                 uintptr_t addend, bool store)
{
    int table = mmu_idx ^ store;
    vaddr line = addr & TIMED_MEM_LINE_MASK;
    CPUTLBEntry *entry = &line_table(cpu, table)
        [(addr >> TIMED_MEM_LINE_BITS) % TIMED_MEM_LINES];
    /* One for each slot and kind, so that the loss of the slot finds it. */
    CPUTLBEntry **of_slot = &tm.line_of_slot[tm.last_slot][store];

    if (*of_slot != entry) {
        line_forget(of_slot);
        *of_slot = entry;
    }
    entry->addr_read = store ? -1 : line;
    entry->addr_write = store ? line : -1;
    entry->addend = addend;
    tm.tables_used |= 1u << table;
}

static bool in_one_line(vaddr addr, int size)
{
    return (addr & ~TIMED_MEM_LINE_MASK) + size <= MEMSYS_LINE_BYTES;
}

void timed_mem_remember_line(CPUState *cpu, int mmu_idx, vaddr addr, int size,
                             void *haddr, MMUAccessType type)
{
    if (timed_mem_lines_in_use && tm.last_slot != MEM_NO_SLOT &&
        in_one_line(addr, size)) {
        remember_line(cpu, mmu_idx, addr, (uintptr_t)haddr - addr,
                      type == MMU_DATA_STORE);
    }
}

void timed_mem_set_roi(CPUState *cpu, bool on)
{
    if (on == (timed_mem_mode == TIMED_MEM_ALL)) {
        return;
    }
    icount_set_rate(cpu, on ? ICOUNT_RATE_ROI : ICOUNT_RATE_BOOT);
    memsys_set_timed(tm.memsys, on);
    if (on) {
        line_tables_init(cpu);
    }
    timed_mem_mode = on ? TIMED_MEM_ALL : TIMED_MEM_DEVICE;
    timed_mem_lines_in_use = on;
    /* TLB flags and the look-up in translated code are other ones now. */
    tlb_flush(cpu);
    tb_flush(cpu);
}

/*
 * Accesses and instructions
 */

static void charge(CPUState *cpu, mem_ps stall_ps)
{
    if (stall_ps) {
        icount_charge_ps(cpu, stall_ps);
    }
}

/* Time for a call of the model. */
static mem_ps call_time(CPUState *cpu)
{
    settle(cpu);
    return icount_now_ps(cpu);
}

static inline void access_line(CPUState *cpu, hwaddr paddr, bool store)
{
    mem_ps now_ps;

    if (post(cpu, paddr, store)) {
        return;
    }
    now_ps = call_time(cpu);
    charge(cpu, store
           ? memsys_store(tm.memsys, paddr, now_ps, &tm.last_slot)
           : memsys_load(tm.memsys, paddr, now_ps, &tm.last_slot));
}

void timed_mem_access(CPUState *cpu, const CPUTLBEntryFull *full, vaddr addr,
                      int size, MMUAccessType type)
{
    hwaddr paddr = full->phys_addr | (addr & ~TARGET_PAGE_MASK);
    hwaddr last = paddr + size - 1;

    if (tm.nt_bytes && type == MMU_DATA_STORE) {
        /* A part of the store that timed_mem_nt_store() announced. */
        tm.nt_bytes -= MIN(size, tm.nt_bytes);
        tm.last_slot = MEM_NO_SLOT;
        return;
    }
    for (paddr &= TIMED_MEM_LINE_MASK; paddr <= last;
         paddr += MEMSYS_LINE_BYTES) {
        access_line(cpu, paddr, type == MMU_DATA_STORE);
    }
}

static inline QEMU_ALWAYS_INLINE void *lookup(CPUState *cpu, vaddr addr,
                                              MemOpIdx oi, int size,
                                              bool store)
{
    const MMUAccessType type = store ? MMU_DATA_STORE : MMU_DATA_LOAD;
    const MemOp memop = get_memop(oi);
    const int mmu_idx = get_mmuidx(oi);
    const CPUTLBDescFast *fast = &cpu->neg.tlb.f[mmu_idx];
    uintptr_t offset = (addr >> (TARGET_PAGE_BITS - CPU_TLB_ENTRY_BITS)) &
                       fast->mask;
    const CPUTLBEntry *page = (void *)((uintptr_t)fast->table + offset);
    const CPUTLBEntryFull *full =
        &cpu->neg.tlb.d[mmu_idx].fulltlb[offset >> CPU_TLB_ENTRY_BITS];
    void *haddr = (void *)(uintptr_t)(addr + page->addend);

    /* Nothing but timed: no watchpoint, no code, no fault to come. */
    if (page->addr_idx[type] != ((addr & TARGET_PAGE_MASK) | TLB_FORCE_SLOW) ||
        full->slow_flags[type] != TLB_TIMED || tm.nt_bytes ||
        !in_one_line(addr, size) || (memop & MO_BSWAP) ||
        ((memop & MO_AMASK) &&
         (addr & ((1 << memop_alignment_bits(memop)) - 1)))) {
        return NULL;
    }
    __builtin_prefetch(haddr, store); /* while the model computes */
    access_line(cpu, full->phys_addr | (addr & ~TARGET_PAGE_MASK), store);
    if (tm.last_slot != MEM_NO_SLOT) {
        remember_line(cpu, mmu_idx, addr, page->addend, store);
    }
    return haddr;
}

/*
 * What translated code calls when a line table does not have the line. The
 * guest's misses spend their time from here to the model's L1, so that is one
 * function, but for what is rare in it.
 */
#define TIMED_LOAD(NAME, TYPE, SIZE, LOAD)                                   \
    static TYPE QEMU_FLATTEN timed_##NAME(CPUArchState *env, uint64_t addr,  \
                                          MemOpIdx oi, uintptr_t ra)         \
    {                                                                        \
        const void *from = lookup(env_cpu(env), addr, oi, SIZE, false);      \
                                                                             \
        return likely(from) ? LOAD(from)                                     \
                            : helper_##NAME##_mmu(env, addr, oi, ra);        \
    }

#define TIMED_STORE(NAME, TYPE, SIZE, STORE)                                 \
    static void QEMU_FLATTEN timed_##NAME(CPUArchState *env, uint64_t addr,  \
                                          TYPE value, MemOpIdx oi,           \
                                          uintptr_t ra)                      \
    {                                                                        \
        void *to = lookup(env_cpu(env), addr, oi, SIZE, true);               \
                                                                             \
        if (likely(to)) {                                                    \
            STORE(to, value);                                                \
        } else {                                                             \
            helper_##NAME##_mmu(env, addr, value, oi, ra);                   \
        }                                                                    \
    }

static inline uint32_t ldl_unsigned(const void *from)
{
    return ldl_he_p(from);
}

static inline Int128 ld16_he_p(const void *from)
{
    Int128 value;

    memcpy(&value, from, sizeof(value));
    return value;
}

static inline void st16_he_p(void *to, Int128 value)
{
    memcpy(to, &value, sizeof(value));
}

TIMED_LOAD(ldub, tcg_target_ulong, 1, ldub_p)
TIMED_LOAD(lduw, tcg_target_ulong, 2, lduw_he_p)
TIMED_LOAD(ldul, tcg_target_ulong, 4, ldl_unsigned)
TIMED_LOAD(ldq, uint64_t, 8, ldq_he_p)
TIMED_LOAD(ld16, Int128, 16, ld16_he_p)
TIMED_STORE(stb, uint32_t, 1, stb_p)
TIMED_STORE(stw, uint32_t, 2, stw_he_p)
TIMED_STORE(stl, uint32_t, 4, stl_he_p)
TIMED_STORE(stq, uint64_t, 8, stq_he_p)
TIMED_STORE(st16, Int128, 16, st16_he_p)

void *const timed_mem_ld_helpers[MO_SIZE + 1] = {
    [MO_8] = timed_ldub,
    [MO_16] = timed_lduw,
    [MO_32] = timed_ldul,
    [MO_64] = timed_ldq,
    [MO_128] = timed_ld16,
};

void *const timed_mem_st_helpers[MO_SIZE + 1] = {
    [MO_8] = timed_stb,
    [MO_16] = timed_stw,
    [MO_32] = timed_stl,
    [MO_64] = timed_stq,
    [MO_128] = timed_st16,
};

void timed_mem_nt_store(CPUState *cpu, hwaddr paddr, int size)
{
    int part = MIN(size, -(int)(paddr | TIMED_MEM_LINE_MASK));

    tm.nt_bytes = size;
    charge(cpu, memsys_nt_store(tm.memsys, paddr, part, call_time(cpu)));
    if (part < size) {
        charge(cpu, memsys_nt_store(tm.memsys, paddr + part, size - part,
                                    call_time(cpu)));
    }
}

void timed_mem_flush(CPUState *cpu, hwaddr paddr, MemFlushKind kind)
{
    charge(cpu, memsys_flush(tm.memsys, paddr, kind, call_time(cpu)));
}

void timed_mem_fence(CPUState *cpu, MemFenceKind kind)
{
    charge(cpu, memsys_fence(tm.memsys, kind, call_time(cpu)));
}

void timed_mem_wbinvd(CPUState *cpu)
{
    charge(cpu, memsys_wbinvd(tm.memsys, call_time(cpu)));
    timed_mem_insn(cpu, MEM_INSN_WBINVD);
}

void timed_mem_insn(CPUState *cpu, MemInsn insn)
{
    charge(cpu, memsys_instruction(tm.memsys, insn, call_time(cpu)));
}

void timed_mem_pause(CPUState *cpu)
{
    settle(cpu);
    charge(cpu, memsys_pause(tm.memsys));
}

void timed_mem_repeat(CPUState *cpu, int size)
{
    tm.rep_bytes += size;
    if (tm.rep_bytes >= TIMED_MEM_REP_BYTES) {
        tm.rep_bytes = 0;
    } else {
        icount_free_insn(cpu);
    }
}
