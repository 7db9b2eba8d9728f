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
#include "hw/mem/memsys/memsys_post.h"
#include "system/cpu-timers.h"

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
    int posts;            /* since posting began */
    int posts_max;        /* their stalls are kept from the budget */
    int direct;           /* accesses before posting may begin again */
} tm = { .last_slot = MEM_NO_SLOT };

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
        : tm.posts < WORTHWHILE_POSTS ? DIRECT_ACCESSES : 0;
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
    if (!memsys_may_post(tm.memsys)) {
        return false;
    }
    for (int posts = MOST_POSTS; posts >= LEAST_POSTS; posts /= 2) {
        if (icount_reserve_ps(cpu, memsys_post_bound(tm.memsys,
                                                     icount_now_ps(cpu),
                                                     posts))) {
            tm.posting = true;
            tm.posts = 0;
            tm.posts_max = posts;
            wake_helper();
            return true;
        }
    }
    tm.direct = DIRECT_ACCESSES;
    return false;
}

/* The helper is far behind: post as soon as there is room. */
static bool __attribute__((noinline)) post_later(hwaddr paddr, bool store,
                                                 mem_ps now_ps)
{
    for (int looks = 0; looks < SETTLE_LOOKS; looks++) {
        wake_helper();
        cpu_relax();
        if (memsys_post(tm.memsys, paddr, store, now_ps, &tm.last_slot)) {
            return true;
        }
    }
    return false;
}

/* Post an access, if it is one that can be. */
static inline bool post(CPUState *cpu, hwaddr paddr, bool store)
{
    mem_ps now_ps;

    if (!icount_settle_stalls || timed_mem_in_window(paddr) ||
        (unlikely(!tm.posting) && !begin_posting(cpu)) ||
        unlikely(tm.posts == tm.posts_max)) {
        return false;
    }
    now_ps = icount_now_ps(cpu);
    if (unlikely(!mem_sys_post(tm.memsys, paddr, store, now_ps,
                               &tm.last_slot)) &&
        !post_later(paddr, store, now_ps)) {
        return false;
    }
    tm.posts++;
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

/* Nothing else is ever set, but the addend, which only a hit uses. */
static inline void entry_clear(CPUTLBEntry *entry)
{
    entry->addr_read = -1;
    entry->addr_write = -1;
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

static inline void line_forget(CPUTLBEntry **of_slot)
{
    if (*of_slot) {
        entry_clear(*of_slot);
        *of_slot = NULL;
    }
}

void timed_mem_l1_slot_dropped(void *opaque, uint32_t slot)
{
    CPUTLBEntry **of_slot = tm.line_of_slot[slot];

    line_forget(&of_slot[0]);
    line_forget(&of_slot[1]);
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
                                              MemOpIdx oi, bool store)
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
        !in_one_line(addr, memop_size(memop)) ||
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
 * The guest's misses spend their time from here to the model's L1, so that is
 * one function, but for what is rare in it.
 */
QEMU_FLATTEN
void *timed_mem_lookup_load(CPUState *cpu, vaddr addr, MemOpIdx oi)
{
    return lookup(cpu, addr, oi, false);
}

QEMU_FLATTEN
void *timed_mem_lookup_store(CPUState *cpu, vaddr addr, MemOpIdx oi)
{
    return lookup(cpu, addr, oi, true);
}

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
