/*
 * Timed memory: reports guest accesses to a memory timing model.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/cputlb.h"
#include "exec/ram_addr.h"
#include "exec/tb-flush.h"
#include "tcg/tcg.h"
#include "tcg/tcg-ldst.h"
#include "timed-mem-internal.h"

TimedMemMode timed_mem_mode;
TimedMemDoorbell *timed_mem_doorbell;
TimedMemReads *timed_mem_reads;
const TimedMemPoison *timed_mem_poison;
MemSys *timed_mem_model;
TimedMemVCPU timed_mem_vcpus[VCPU_CLOCKS_MAX];

void timed_mem_attach(MemSys *memsys, bool posted)
{
    CPUState *cpu;

    timed_mem_model = memsys;
    CPU_FOREACH(cpu) {
        timed_mem_lines_new(&timed_mem_vcpu(cpu)->lines,
                            memsys_l1_slots(memsys));
    }
    timed_mem_mode = TIMED_MEM_DEVICE;
    if (posted) {
        timed_mem_start_posting();
    }
}

/*
 * A caller in the vCPU thread must see the effects of all posted accesses, in
 * the model and, below, in the time.
 */
MemSys *timed_mem_memsys(void)
{
    if (current_cpu) {
        timed_mem_settle(current_cpu);
    }
    return timed_mem_model;
}

mem_ps timed_mem_now_ps(void)
{
    if (current_cpu) {
        timed_mem_settle(current_cpu);
    }
    return vcpu_clocks_on ? vcpu_clocks_now_ps(current_cpu)
        : icount_now_ps(current_cpu ? current_cpu : first_cpu);
}

bool timed_mem_page_timed(hwaddr paddr, int mmu_idx)
{
    if (mmu_idx >= TIMED_MEM_DATA_MODES || timed_mem_mode == TIMED_MEM_OFF) {
        return false;
    }
    return timed_mem_mode == TIMED_MEM_ALL ||
           !memsys_is_local(timed_mem_model, paddr);
}

void timed_mem_set_roi(CPUState *cpu, bool on)
{
    CPUState *each;

    if (on == (timed_mem_mode == TIMED_MEM_ALL)) {
        return;
    }
    icount_set_rate(cpu, on ? ICOUNT_RATE_ROI : ICOUNT_RATE_BOOT);
    memsys_set_timed(timed_mem_model, on);
    timed_mem_mode = on ? TIMED_MEM_ALL : TIMED_MEM_DEVICE;
    timed_mem_lines_in_use = on;
    /* TLB flags and the look-up in translated code have changed. */
    CPU_FOREACH(each) {
        if (on) {
            timed_mem_lines_begin(&timed_mem_vcpu(each)->lines, each);
        }
        tlb_flush(each);
    }
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

/*
 * Virtual time for a call of the model by the code at @ra. As vCPUs share the
 * model, this leaves the block of @ra if the vCPU is too far ahead.
 */
static mem_ps call_time(CPUState *cpu, uintptr_t ra)
{
    mem_ps now_ps;

    timed_mem_settle(cpu);
    now_ps = icount_now_ps(cpu);
    return vcpu_clocks_on ? vcpu_clocks_share(cpu, now_ps, ra) : now_ps;
}

static inline void access_line(TimedMemVCPU *vcpu, CPUState *cpu, hwaddr paddr,
                               bool store, uintptr_t ra)
{
    uint32_t *slot = &vcpu->lines.last_slot;
    mem_ps now_ps, stall_ps;

    if (timed_mem_post(vcpu, cpu, paddr, store)) {
        return;
    }
    now_ps = call_time(cpu, ra);
    if (vcpu_clocks_on && vcpu_clocks_locked(cpu)) {
        stall_ps = memsys_locked(timed_mem_model, cpu->cpu_index, paddr, store,
                                 now_ps, slot);
        charge(cpu, stall_ps);
        vcpu_clocks_lock_stalled(cpu, stall_ps);
        return;
    }
    charge(cpu, (store ? memsys_store : memsys_load)(timed_mem_model,
                                                     cpu->cpu_index, paddr,
                                                     now_ps, slot));
}

/*
 * Raises a machine check, which leaves the block of @ra, if the guest loads
 * poison and its CPU has SUCCOR.
 */
static void check_poison(CPUState *cpu, hwaddr paddr, int size, uintptr_t ra)
{
    hwaddr poisoned;

    if (mem_memory_window(&timed_mem_model->memory, paddr) &&
        timed_mem_poison->load(paddr, size, &poisoned)) {
        cpu_x86_load_poison(cpu_env(cpu), poisoned, ra);
    }
}

void timed_mem_locked_load(CPUState *cpu, const CPUTLBEntryFull *full,
                           vaddr addr, int size, uintptr_t ra)
{
    if (unlikely(timed_mem_poison)) {
        check_poison(cpu, full->phys_addr | (addr & ~TARGET_PAGE_MASK), size,
                     ra);
    }
}

void timed_mem_access(CPUState *cpu, const CPUTLBEntryFull *full, vaddr addr,
                      int size, MMUAccessType type, uintptr_t ra)
{
    TimedMemVCPU *vcpu = timed_mem_vcpu(cpu);
    hwaddr paddr = full->phys_addr | (addr & ~TARGET_PAGE_MASK);
    hwaddr last = paddr + size - 1;

    if (vcpu->nt_bytes && type == MMU_DATA_STORE) {
        /* A part of the store that timed_mem_nt_store() has reported. */
        vcpu->nt_bytes -= MIN(size, vcpu->nt_bytes);
        vcpu->lines.last_slot = MEM_NO_SLOT;
        return;
    }
    for (hwaddr line = paddr & TIMED_MEM_LINE_MASK; line <= last;
         line += MEMSYS_LINE_BYTES) {
        access_line(vcpu, cpu, line, type == MMU_DATA_STORE, ra);
    }
    if (unlikely(timed_mem_reads) &&
        mem_memory_window(&timed_mem_model->memory, paddr)) {
        timed_mem_reads(paddr, size, type == MMU_DATA_STORE);
    }
    if (unlikely(timed_mem_poison) && type == MMU_DATA_LOAD) {
        check_poison(cpu, paddr, size, ra);
    }
    if (type == MMU_DATA_STORE) {
        timed_mem_tell_access(cpu, MEM_JOURNAL_STORE, 0, paddr, size, ra);
        vcpu->lines.last_paddr = paddr;
    }
}

static inline QEMU_ALWAYS_INLINE void *lookup(CPUState *cpu, vaddr addr,
                                              MemOpIdx oi, int size,
                                              bool store, uintptr_t ra)
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
    TimedMemVCPU *vcpu = timed_mem_vcpu(cpu);
    TimedMemLines *lines = &vcpu->lines;

    /*
     * The access must need timing only: no watchpoint, code, poison or fault.
     */
    if (page->addr_idx[type] != ((addr & TARGET_PAGE_MASK) | TLB_FORCE_SLOW) ||
        full->slow_flags[type] != TLB_TIMED || vcpu->nt_bytes ||
        timed_mem_poison || !timed_mem_in_one_line(addr, size) ||
        (memop & MO_BSWAP) ||
        ((memop & MO_AMASK) &&
         (addr & ((1 << memop_alignment_bits(memop)) - 1)))) {
        return NULL;
    }
    if (store) { /* used once the model has computed */
        __builtin_prefetch(haddr, 1);
    } else {
        __builtin_prefetch(haddr, 0);
    }
    access_line(vcpu, cpu, full->phys_addr | (addr & ~TARGET_PAGE_MASK), store,
                ra);
    if (unlikely(timed_mem_poison)) { /* this access has lost lines */
        return NULL;
    }
    if (lines->last_slot != MEM_NO_SLOT) {
        timed_mem_add_line(lines, cpu, mmu_idx, addr, page->addend, store);
    }
    return haddr;
}

/*
 * Called by translated code when a line table does not have the line. The host
 * time of the guest's misses is spent between here and the model's L1, so this
 * path is one function, without its rare cases.
 */
#define TIMED_LOAD(NAME, TYPE, SIZE, LOAD)                                   \
    static TYPE QEMU_FLATTEN timed_##NAME(CPUArchState *env, uint64_t addr,  \
                                          MemOpIdx oi, uintptr_t ra)         \
    {                                                                        \
        const void *from = lookup(env_cpu(env), addr, oi, SIZE, false, ra);  \
                                                                             \
        return likely(from) ? LOAD(from)                                     \
                            : helper_##NAME##_mmu(env, addr, oi, ra);        \
    }

#define TIMED_STORE(NAME, TYPE, SIZE, STORE)                                 \
    static void QEMU_FLATTEN timed_##NAME(CPUArchState *env, uint64_t addr,  \
                                          TYPE value, MemOpIdx oi,           \
                                          uintptr_t ra)                      \
    {                                                                        \
        void *to = lookup(env_cpu(env), addr, oi, SIZE, true, ra);           \
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

static void *const ld_helpers[MO_SIZE + 1] = {
    [MO_8] = timed_ldub,
    [MO_16] = timed_lduw,
    [MO_32] = timed_ldul,
    [MO_64] = timed_ldq,
    [MO_128] = timed_ld16,
};

static void *const st_helpers[MO_SIZE + 1] = {
    [MO_8] = timed_stb,
    [MO_16] = timed_stw,
    [MO_32] = timed_stl,
    [MO_64] = timed_stq,
    [MO_128] = timed_st16,
};

void *const *timed_mem_ld_helpers = ld_helpers;
void *const *timed_mem_st_helpers = st_helpers;

/* Loads take the general slow path, which reports them. */
void timed_mem_set_reads(TimedMemReads *reads)
{
    assert(!timed_mem_lines_in_use);
    timed_mem_reads = reads;
    timed_mem_ld_helpers = NULL;
}

static void forget_work(CPUState *cpu, run_on_cpu_data unused)
{
    timed_mem_forget_lines(cpu);
}

/* The line tables may contain a line that is poisoned now. */
void timed_mem_set_poison(const TimedMemPoison *poison)
{
    CPUState *cpu;

    timed_mem_poison = poison;
    CPU_FOREACH(cpu) {
        async_run_on_cpu(cpu, forget_work, RUN_ON_CPU_NULL);
    }
}

bool timed_mem_has_code(MemoryRegion *ram)
{
    return !cpu_physical_memory_all_dirty(memory_region_get_ram_addr(ram),
                                          memory_region_size(ram),
                                          DIRTY_MEMORY_CODE);
}

void timed_mem_nt_store(CPUState *cpu, hwaddr paddr, int size, uintptr_t ra)
{
    int part = MIN(size, -(int)(paddr | TIMED_MEM_LINE_MASK));
    mem_ps now_ps = call_time(cpu, ra);

    if (unlikely(timed_mem_poison)) {
        timed_mem_poison->nt_store(paddr, size);
    }
    charge(cpu, memsys_nt_store(timed_mem_model, cpu->cpu_index, paddr,
                                part, now_ps));
    timed_mem_vcpu(cpu)->nt_bytes = size;
    if (part < size) {
        charge(cpu, memsys_nt_store(timed_mem_model, cpu->cpu_index,
                                    paddr + part, size - part,
                                    call_time(cpu, 0)));
    }
    timed_mem_tell_access(cpu, MEM_JOURNAL_NT_STORE, 0, paddr, size, ra);
}

void timed_mem_flush(CPUState *cpu, hwaddr paddr, MemFlushKind kind,
                     uintptr_t ra)
{
    charge(cpu, memsys_flush(timed_mem_model, cpu->cpu_index, paddr, kind,
                             call_time(cpu, ra)));
    timed_mem_tell_access(cpu, MEM_JOURNAL_FLUSH, kind, paddr, 0, ra);
}

void timed_mem_fence(CPUState *cpu, MemFenceKind kind, uintptr_t ra)
{
    charge(cpu, memsys_fence(timed_mem_model, cpu->cpu_index, kind,
                             call_time(cpu, ra)));
    timed_mem_tell(cpu, MEM_JOURNAL_FENCE, kind, ra);
}

void timed_mem_wbinvd(CPUState *cpu, uintptr_t ra)
{
    charge(cpu, memsys_wbinvd(timed_mem_model, cpu->cpu_index,
                              call_time(cpu, ra)));
    timed_mem_tell(cpu, MEM_JOURNAL_WBINVD, 0, ra);
    timed_mem_insn(cpu, MEM_INSN_WBINVD, 0);
}

void timed_mem_insn(CPUState *cpu, MemInsn insn, uintptr_t ra)
{
    charge(cpu, memsys_instruction(timed_mem_model, cpu->cpu_index, insn,
                                   call_time(cpu, ra)));
}

void timed_mem_pause(CPUState *cpu)
{
    mem_ps pause_ps = memsys_pause(timed_mem_model, cpu->cpu_index);

    timed_mem_settle(cpu);
    charge(cpu, vcpu_clocks_on ? vcpu_clocks_at_rate(pause_ps) : pause_ps);
}

void timed_mem_repeat(CPUState *cpu, int size)
{
    TimedMemVCPU *vcpu = timed_mem_vcpu(cpu);

    vcpu->rep_bytes += size;
    if (vcpu->rep_bytes >= TIMED_MEM_REP_BYTES) {
        vcpu->rep_bytes = 0;
    } else {
        icount_free_insn(cpu);
    }
}
