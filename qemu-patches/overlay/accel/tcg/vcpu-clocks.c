/*
 * Several vCPUs in one thread, each with its own virtual clock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "exec/cpu-common.h"
#include "hw/mem/memsys/base/mem_hash.h"
#include "qapi/clone-visitor.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-vcpu-clocks.h"
#include "qapi/qapi-visit-vcpu-clocks.h"
#include "system/cpus.h"
#include "system/cpu-timers-internal.h"
#include "system/runstate.h"
#include "system/tcg.h"
#include "system/vcpu-clocks.h"
#include "tcg-accel-ops.h"
#include "internal-common.h"
#include "tcg-accel-ops-icount.h"

#define NEVER_PS UINT64_MAX

/*
 * How far past its limit an access may be if it cannot wait, or has waited
 * once. LENIENCE_PS exceeds the delay that another vCPU can cause by taking the
 * line away.
 */
#define LENIENCE_PS 1000000

/* A tick of the guest's kernel, which is built with HZ=250. */
#define TICK_PS UINT64_C(4000000000)

/* A clock that is not in timers_state: a time, and instructions since then. */
typedef struct VCPUClock {
    uint64_t base_ps;
    int64_t insns;
    uint64_t executed; /* instructions since the machine began */
    uint64_t idle_ps;  /* halted time that its clock includes */
    uint64_t no_wait;  /* executed after the block that does not wait */
    uint64_t begun;    /* executed after a locked instruction that has begun */
    uint64_t locked;   /* the same, once it has waited if it had to */
} VCPUClock;

bool vcpu_clocks_on;

static VCPUClock clocks[VCPU_CLOCKS_MAX];
/* Values of each vCPU when the model's counters were last zeroed. */
static VCPUTime times_before[VCPU_CLOCKS_MAX];
/* The floor: no runnable vCPU and no event is earlier; never goes back. */
static uint64_t floor_ps;
/* The vCPU for which work is done, between slices. */
static CPUState *working;

static struct {
    uint64_t quantum_ps;
    uint64_t ipi_ps;
    bool host_ends_slices;
    uint64_t seed;
} config = {
    .quantum_ps = VCPU_CLOCKS_QUANTUM_PS,
    .ipi_ps = VCPU_CLOCKS_IPI_PS,
};

/* The slice that runs, or that goes on when the host lets it. */
static struct {
    CPUState *cpu;         /* NULL: no slice has begun */
    CPUState *running;     /* the same vCPU while it executes */
    uint64_t end_ps;
    uint64_t others_ps;    /* the least clock of the other runnable vCPUs */
    uint64_t wait_from_ps; /* later accesses wait for others and events */
    int64_t first_icount;  /* of all vCPUs, when the slice began */
    int64_t run_icount;    /* the same, when it last went on */
    bool until_event;      /* end_ps is exact, not at the end of a block */
    bool ended;            /* by an action of the guest */
} slice;

static VCPUOrder order;
static uint64_t resumes;
/* The latest time of all accesses to shared state. */
static uint64_t shared_ps;

/*
 * Clocks
 */

static VCPUClock *clock_of(CPUState *cpu)
{
    return &clocks[cpu->cpu_index];
}

static const IcountRate *rate_in_force(void)
{
    return &timers_state.rate[timers_state.rate_in_force];
}

static uint64_t clock_ps(const VCPUClock *clock)
{
    const IcountRate *rate = rate_in_force();

    return clock->base_ps + icount_scale(clock->insns, rate->ps, rate->insns);
}

static void clock_set(VCPUClock *clock, uint64_t ps)
{
    clock->base_ps = ps;
    clock->insns = 0;
}

/* A halted vCPU's clock advances, too; the time counts as idle. */
static void clock_advance(VCPUClock *clock, uint64_t ps)
{
    uint64_t halted_at_ps = clock_ps(clock);

    if (halted_at_ps < ps) {
        clock->idle_ps += ps - halted_at_ps;
        clock_set(clock, ps);
    }
}

/*
 * Load a clock where all of QEMU reads the time. qemu_icount there counts the
 * instructions of all vCPUs.
 */
static void load(uint64_t base_ps, int64_t insns)
{
    seqlock_write_lock(&timers_state.vm_clock_seqlock,
                       &timers_state.vm_clock_lock);
    timers_state.rate_base_ps = base_ps;
    timers_state.rate_base_icount = timers_state.qemu_icount - insns;
    qatomic_set_u64(&timers_state.stall_ps, 0);
    qatomic_set_i64(&timers_state.free_insns, 0);
    seqlock_write_unlock(&timers_state.vm_clock_seqlock,
                         &timers_state.vm_clock_lock);
}

static void save(VCPUClock *clock)
{
    clock->base_ps = timers_state.rate_base_ps + timers_state.stall_ps;
    clock->insns = timers_state.qemu_icount - timers_state.rate_base_icount -
                   timers_state.free_insns;
}

static void raise_floor(uint64_t ps)
{
    if (ps > floor_ps) {
        floor_ps = ps;
        load(floor_ps, 0);
    }
}

uint64_t vcpu_clocks_now_ps(CPUState *cpu)
{
    if (cpu && cpu->running) {
        return icount_now_ps(cpu);
    }
    return cpu && cpu == working ? MAX(floor_ps, clock_ps(clock_of(cpu)))
                                 : floor_ps;
}

void vcpu_clocks_set_rate(IcountRateId id)
{
    CPUState *cpu;

    assert(!slice.running);
    CPU_FOREACH(cpu) {
        clock_set(clock_of(cpu), clock_ps(clock_of(cpu)));
    }
    timers_state.rate_in_force = id;
    vcpu_clocks_end_slice(); /* its quantum is one of the old rate */
}

/*
 * Slices
 */

uint64_t vcpu_clocks_at_rate(uint64_t ps)
{
    const IcountRate *now = rate_in_force();
    const IcountRate *roi = &timers_state.rate[ICOUNT_RATE_ROI];

    return now == roi ? ps
        : muldiv64(muldiv64(ps, roi->insns, roi->ps), now->ps, now->insns);
}

static bool can_run(CPUState *cpu)
{
    return !cpu->halted || cpu_has_work(cpu);
}

/* The deadline is relative to the floor, which is in timers_state. */
static uint64_t next_event_ps(void)
{
    int64_t deadline_ns = qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL,
                                                     QEMU_TIMER_ATTR_ALL);

    return deadline_ns < 0 ? NEVER_PS
                           : (floor_ps / 1000 + deadline_ns) * 1000;
}

/*
 * A timer that was set within the slice moves the end nearer. The end never
 * moves farther: if a deleted timer let the slice go on, this would depend on
 * whether the host happened to interrupt the slice before its end.
 */
static void slice_bound(uint64_t event_ps)
{
    if (event_ps <= slice.end_ps) {
        slice.end_ps = event_ps;
        slice.until_event = true;
    }
}

static bool slice_goes_on(void)
{
    if (!slice.cpu || slice.ended || config.host_ends_slices) {
        return false;
    }
    slice_bound(next_event_ps());
    return can_run(slice.cpu) && clock_ps(clock_of(slice.cpu)) < slice.end_ps;
}

static void slice_begin(CPUState *cpu, uint64_t others_ps, uint64_t event_ps)
{
    uint64_t now_ps = clock_ps(clock_of(cpu));
    bool alone = others_ps == NEVER_PS;
    uint64_t quantum_ps = vcpu_clocks_at_rate(config.quantum_ps);
    uint64_t far_ps = (now_ps / 1000 | INT32_MAX) * 1000 + 1000;

    slice.cpu = cpu;
    slice.ended = false;
    slice.others_ps = others_ps;
    slice.end_ps = alone ? far_ps : others_ps + quantum_ps;
    slice.first_icount = timers_state.qemu_icount;
    slice.until_event = alone;
    slice_bound(event_ps);
    order.slices++;
}

/* The n-th number of the seed's stream. */
static uint64_t draw(uint64_t n)
{
    return mem_hash_mix(config.seed + n * UINT64_C(0x9e3779b97f4a7c15));
}

/* Whether @cpu goes before @other, of a lower index, at equal clocks. */
static bool goes_first(CPUState *cpu, CPUState *other)
{
    return config.seed && draw(cpu->cpu_index) < draw(other->cpu_index);
}

/* Begin a slice or, if an event is due first, let it happen; false: neither. */
static bool slice_or_event(void)
{
    uint64_t least_ps = NEVER_PS, others_ps = NEVER_PS, event_ps;
    CPUState *cpu, *least = NULL;

    slice.cpu = NULL;
    CPU_FOREACH(cpu) {
        uint64_t ps;

        if (!can_run(cpu)) {
            continue;
        }
        clock_advance(clock_of(cpu), floor_ps);
        ps = clock_ps(clock_of(cpu));
        if (ps < least_ps || (ps == least_ps && goes_first(cpu, least))) {
            others_ps = least_ps;
            least_ps = ps;
            least = cpu;
        } else {
            others_ps = MIN(others_ps, ps);
        }
    }
    event_ps = next_event_ps();
    if (event_ps != NEVER_PS && event_ps <= least_ps) {
        raise_floor(event_ps);
        icount_handle_deadline();
        return true;
    }
    if (least) {
        raise_floor(least_ps);
        slice_begin(least, others_ps, event_ps);
    }
    return least;
}

static void slice_run(void)
{
    CPUState *cpu = slice.cpu;
    VCPUClock *clock = clock_of(cpu);
    const IcountRate *rate = rate_in_force();
    int64_t budget;
    int r;

    current_cpu = cpu;
    slice.run_icount = timers_state.qemu_icount;
    /*
     * The first block of the least vCPU ends at most one instruction after the
     * end of the slice, and its first access must not wait.
     */
    slice.wait_from_ps = slice.end_ps + DIV_ROUND_UP(rate->ps, rate->insns) + 1;
    load(clock->base_ps, clock->insns);
    budget = MAX(icount_limit_at(slice.end_ps), 1);
    assert(!cpu->neg.icount_decr.u16.low && !cpu->icount_extra);
    qatomic_set_mb(&slice.running, cpu);
    bql_unlock();
    cpu->icount_budget = budget;
    cpu->neg.icount_decr.u16.low = MIN(0xffff, budget);
    cpu->icount_extra = budget - cpu->neg.icount_decr.u16.low;
    r = tcg_cpu_exec(cpu);
    icount_update(cpu);
    cpu->neg.icount_decr.u16.low = 0;
    cpu->icount_extra = 0;
    cpu->icount_budget = 0;
    bql_lock();
    qatomic_set(&slice.running, NULL);
    save(clock);
    clock->executed += timers_state.qemu_icount - slice.run_icount;
    load(floor_ps, 0);
    /* Without CF_PARALLEL no instruction needs EXCP_ATOMIC. */
    assert(r != EXCP_ATOMIC);
    if (r == EXCP_DEBUG) {
        cpu_handle_guest_debug(cpu);
    }
}

/*
 * The loop
 */

static bool machine_runs(void)
{
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        if (cpu->stop || cpu->stopped) {
            return false;
        }
    }
    return runstate_is_running();
}

static bool has_work(CPUState *cpu)
{
    return cpu->stop || !cpu_work_list_empty(cpu);
}

static void do_work(void)
{
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        if (has_work(cpu)) {
            current_cpu = working = cpu;
            qemu_wait_io_event_common(cpu);
        }
    }
    working = NULL;
}

/*
 * Wait, unless a vCPU has work by now. After a triple fault one vCPU has
 * stopped, and the others stop only when the main loop has taken the BQL.
 */
static void wait_for_host(void)
{
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        if (has_work(cpu) || (machine_runs() && can_run(cpu))) {
            return;
        }
    }
    qemu_cond_wait_bql(first_cpu->halt_cond);
}

/* RCU waits to reclaim memory that the running vCPU may still read. */
static void kick_running(Notifier *notifier, void *unused)
{
    CPUState *cpu;

    do {
        cpu = qatomic_read(&slice.running);
        if (cpu) {
            cpu_exit(cpu);
        }
        smp_mb(); /* the vCPU sees the kick, or another one runs */
    } while (cpu != qatomic_read(&slice.running));
}

void vcpu_clocks_run(void)
{
    Notifier force_rcu = { .notify = kick_running };

    rcu_add_force_rcu_notifier(&force_rcu);
    for (;;) {
        do_work();
        if (!machine_runs()) {
            wait_for_host();
        } else if (slice_goes_on()) {
            resumes++;
            slice_run();
        } else if (!slice_or_event()) {
            wait_for_host(); /* all vCPUs are halted, and no timer is set */
        } else if (slice.cpu) {
            slice_run();
        } else {
            /* Between events without a slice, let others take the BQL. */
            bql_unlock();
            bql_lock();
        }
    }
}

/*
 * Within a slice
 */

void vcpu_clocks_end_slice(void)
{
    qatomic_set(&slice.ended, true);
}

/*
 * Before an event the slice ends at an exact instruction, so that the event is
 * on time. A quantum ends between two blocks, but not before the slice's first.
 */
bool vcpu_clocks_end_before_block(CPUState *cpu)
{
    if (slice.until_event || timers_state.qemu_icount == slice.first_icount) {
        return false;
    }
    vcpu_clocks_end_slice();
    qatomic_set(&cpu->exit_request, 1);
    return true;
}

void vcpu_clocks_interrupt(CPUState *cpu)
{
    CPUState *by = qemu_in_vcpu_thread() ? slice.running : NULL;

    if (!cpu->halted) {
        return;
    }
    if (by && by != cpu) {
        clock_advance(clock_of(cpu), icount_now_ps(by));
        cpu_exit(by);
    }
    vcpu_clocks_end_slice();
}

/* Instructions of the running vCPU, up to the end of its block. */
static uint64_t executed(CPUState *cpu)
{
    return clock_of(cpu)->executed + icount_get_executed(cpu) +
           timers_state.qemu_icount - slice.run_icount;
}

bool vcpu_clocks_locked(CPUState *cpu)
{
    return clock_of(cpu)->locked == executed(cpu);
}

static G_NORETURN void wait_for_others(CPUState *cpu, uintptr_t ra)
{
    order.waits++;
    vcpu_clocks_end_slice();
    cpu_restore_state(cpu, ra);
    /* The vCPU next runs this instruction alone in a block, without a wait. */
    clock_of(cpu)->no_wait = executed(cpu) + 1;
    cpu->cflags_next_tb = curr_cflags(cpu) | 1;
    cpu->exception_index = EXCP_INTERRUPT;
    cpu_loop_exit(cpu);
}

/* Whether the running vCPU, @ahead_ps too far ahead, must leave its block. */
static bool must_wait(CPUState *cpu, uint64_t ahead_ps, uintptr_t ra)
{
    return ra && (ahead_ps > LENIENCE_PS ||
                  clock_of(cpu)->no_wait != executed(cpu));
}

uint64_t vcpu_clocks_share(CPUState *cpu, uint64_t now_ps, uintptr_t ra)
{
    if (now_ps >= slice.wait_from_ps) {
        if (must_wait(cpu, now_ps - slice.wait_from_ps, ra)) {
            wait_for_others(cpu, ra);
        }
        now_ps = MIN(now_ps, slice.wait_from_ps + LENIENCE_PS);
    }
    if (now_ps >= shared_ps) {
        shared_ps = now_ps;
    } else {
        order.went_back++;
        order.went_back_max_ps = MAX(order.went_back_max_ps,
                                     shared_ps - now_ps);
    }
    return now_ps;
}

bool vcpu_clocks_lock_begun(CPUState *cpu)
{
    return clock_of(cpu)->begun == executed(cpu);
}

void vcpu_clocks_lock(CPUState *cpu, uintptr_t ra)
{
    VCPUClock *clock = clock_of(cpu);

    clock->begun = executed(cpu);
    vcpu_clocks_share(cpu, icount_now_ps(cpu), ra);
    clock->no_wait = clock->locked = executed(cpu);
}

/*
 * The stall has moved this clock on. Other vCPUs are behind it and may request
 * the line at an earlier time, so they run first. If the slice went on, this
 * vCPU could repeat the instruction as a hit in L1 until the end of the slice.
 * Since each transfer moves the clocks alike, the number of such hits would
 * only depend on how far apart the clocks were in the beginning: 0 to 50 for a
 * loop of XADD.
 *
 * A transfer takes at least a quantum, so a shorter stall is no transfer.
 */
void vcpu_clocks_lock_stalled(CPUState *cpu, uint64_t stall_ps)
{
    if (stall_ps && stall_ps >= vcpu_clocks_at_rate(config.quantum_ps)) {
        vcpu_clocks_end_slice();
        cpu_exit(cpu);
    }
}

void vcpu_clocks_in_order(CPUState *cpu, uintptr_t ra)
{
    /* This instruction is the last of its block, and is counted already. */
    int64_t icount = timers_state.qemu_icount + icount_get_executed(cpu) - 1;
    uint64_t before_ps = icount_ps_at(icount);

    if (before_ps > slice.others_ps &&
        must_wait(cpu, before_ps - slice.others_ps, ra)) {
        wait_for_others(cpu, ra);
    }
}

typedef struct Message {
    QEMUTimer timer;
    QEMUTimerCB *deliver;
    void *content;
} Message;

static void arrive(void *opaque)
{
    g_autofree Message *message = opaque;

    message->deliver(message->content);
}

void vcpu_clocks_send(CPUState *cpu, QEMUTimerCB *deliver, void *content)
{
    Message *message = g_new0(Message, 1);
    uint64_t ipi_ps = vcpu_clocks_at_rate(config.ipi_ps);
    uint64_t at_ps = vcpu_clocks_now_ps(cpu) + ipi_ps;

    message->deliver = deliver;
    message->content = content;
    timer_init_ns(&message->timer, QEMU_CLOCK_VIRTUAL, arrive, message);
    timer_mod(&message->timer, DIV_ROUND_UP(at_ps, 1000));
}

/*
 * The seed
 */

void vcpu_clocks_seed(uint64_t seed)
{
    config.seed = seed;
}

bool vcpu_clocks_have_seed(void)
{
    return config.seed != 0;
}

/* The next number of the seed's stream, below @bound; 0 if @bound is 0. */
static uint64_t draw_next_below(uint64_t bound)
{
    static uint64_t drawn;

    return bound ? draw(VCPU_CLOCKS_MAX + drawn++) % bound : 0;
}

/* How far the clock of @cpu can move on before a timer falls due. */
static uint64_t until_event_ps(CPUState *cpu)
{
    int64_t deadline_ns = qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL,
                                                     QEMU_TIMER_ATTR_ALL);
    uint64_t now_ps, event_ps;

    if (deadline_ns < 0) {
        return NEVER_PS;
    }
    if (!vcpu_clocks_on) {
        return deadline_ns > 1 ? (deadline_ns - 1) * 1000 : 0;
    }
    now_ps = vcpu_clocks_now_ps(cpu);
    event_ps = next_event_ps();
    return event_ps - MIN(event_ps, now_ps);
}

/* Advance each clock by @ps and a number below @spread_ps from the seed. */
static void move_on(uint64_t ps, uint64_t spread_ps)
{
    CPUState *cpu;

    assert(!slice.running);
    if (!vcpu_clocks_on) {
        seqlock_write_lock(&timers_state.vm_clock_seqlock,
                           &timers_state.vm_clock_lock);
        qatomic_set_u64(&timers_state.stall_ps, timers_state.stall_ps + ps);
        seqlock_write_unlock(&timers_state.vm_clock_seqlock,
                             &timers_state.vm_clock_lock);
        return;
    }
    CPU_FOREACH(cpu) {
        VCPUClock *clock = clock_of(cpu);

        clock_set(clock, clock_ps(clock) + ps + draw_next_below(spread_ps));
    }
    vcpu_clocks_end_slice();
}

void vcpu_clocks_shift_tick(void)
{
    if (config.seed) {
        move_on(draw_next_below(TICK_PS), 0);
    }
}

void vcpu_clocks_scatter(CPUState *cpu)
{
    if (config.seed) {
        move_on(draw_next_below(MIN(TICK_PS, until_event_ps(cpu))),
                config.quantum_ps);
    }
}

/*
 * Configuration and query
 */

bool vcpu_clocks_enable(unsigned vcpus, unsigned most, Error **errp)
{
    if (most != vcpus) {
        error_setg(errp, "icount: insn-ps needs all vCPUs from the start: "
                   "maxcpus is %u and cpus %u", most, vcpus);
        return false;
    }
    if (vcpus > VCPU_CLOCKS_MAX) {
        error_setg(errp, "icount: insn-ps is for at most %u vCPUs",
                   VCPU_CLOCKS_MAX);
        return false;
    }
    vcpu_clocks_on = vcpus > 1;
    return true;
}

void vcpu_clocks_configure(uint64_t quantum_ps, uint64_t ipi_ps,
                           bool host_ends_slices)
{
    config.quantum_ps = quantum_ps;
    config.ipi_ps = ipi_ps;
    config.host_ends_slices = host_ends_slices;
}

VCPUOrder *vcpu_clocks_order(void)
{
    return vcpu_clocks_on ? QAPI_CLONE(VCPUOrder, &order) : NULL;
}

void vcpu_clocks_reset_order(void)
{
    order = (VCPUOrder) {};
}

/*
 * No vCPU executes anything before this time. The floor may be earlier, as it
 * moves only between slices.
 */
static uint64_t earliest_ps(void)
{
    uint64_t least_ps = next_event_ps();
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        if (can_run(cpu)) {
            least_ps = MIN(least_ps, clock_ps(clock_of(cpu)));
        }
    }
    return least_ps == NEVER_PS ? floor_ps : MAX(floor_ps, least_ps);
}

/* Values since the machine began. A halted vCPU is idle up to @now_ps. */
static VCPUTime time_of(CPUState *cpu, uint64_t now_ps)
{
    VCPUClock *clock = clock_of(cpu);
    uint64_t behind_ps;

    if (!vcpu_clocks_on) {
        return (VCPUTime) {
            .instructions = icount_get_raw(),
            .time_ps = icount_now_ps(cpu),
            .idle_ps = timers_state.qemu_icount_bias * 1000,
        };
    }
    behind_ps = now_ps - MIN(now_ps, clock_ps(clock));
    return (VCPUTime) {
        .instructions = clock->executed,
        .time_ps = clock_ps(clock) + behind_ps,
        .idle_ps = clock->idle_ps + behind_ps,
    };
}

void vcpu_clocks_reset_times(void)
{
    CPUState *cpu;

    assert(!slice.running);
    if (vcpu_clocks_on) {
        raise_floor(earliest_ps()); /* no vCPU is woken before this time */
    }
    CPU_FOREACH(cpu) {
        times_before[cpu->cpu_index] = time_of(cpu, floor_ps);
    }
}

VCPUTimeList *vcpu_clocks_times(void)
{
    VCPUTimeList *list = NULL, **tail = &list;
    uint64_t now_ps = vcpu_clocks_on ? earliest_ps() : 0;
    CPUState *cpu;

    assert(!slice.running);
    CPU_FOREACH(cpu) {
        const VCPUTime *before = &times_before[cpu->cpu_index];
        VCPUTime *q = g_new(VCPUTime, 1);

        *q = time_of(cpu, now_ps);
        q->instructions -= before->instructions;
        q->time_ps -= before->time_ps;
        q->idle_ps -= before->idle_ps;
        QAPI_LIST_APPEND(tail, q);
    }
    return list;
}

static void query_work(CPUState *unused, run_on_cpu_data data)
{
    VCPUClocks *info = data.host_ptr;
    VCPUClockInfoList **tail = &info->vcpus;
    CPUState *cpu;

    info->floor_ps = floor_ps;
    info->order = vcpu_clocks_order();
    info->resumes = resumes;
    CPU_FOREACH(cpu) {
        VCPUClockInfo *vcpu = g_new0(VCPUClockInfo, 1);

        vcpu->instructions = clock_of(cpu)->executed;
        vcpu->clock_ps = clock_ps(clock_of(cpu));
        QAPI_LIST_APPEND(tail, vcpu);
    }
}

VCPUClocks *qmp_query_vcpu_clocks(Error **errp)
{
    VCPUClocks *info;

    if (!vcpu_clocks_on) {
        error_setg(errp, "the machine has one vCPU, or no insn-ps");
        return NULL;
    }
    info = g_new0(VCPUClocks, 1);
    run_on_cpu(first_cpu, query_work, RUN_ON_CPU_HOST_PTR(info));
    return info;
}
