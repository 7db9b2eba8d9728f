/*
 * Several vCPUs in one thread, each with its own virtual clock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The runnable vCPU with the least clock runs, until the next event or until it
 * is a quantum ahead of the second least. Among equal clocks the lowest index
 * goes first, unless a seed decides. So the order in which instructions of
 * several vCPUs are executed is a function of the guest's state and the seed
 * alone. The clock of the running vCPU is stored where -icount stores the only
 * clock of a machine with one vCPU. Between slices this place holds the floor:
 * the least clock, before which nothing can happen any more.
 *
 * With one vCPU this scheduling is not in use, and vcpu_clocks_on is false.
 */
#ifndef SYSTEM_VCPU_CLOCKS_H
#define SYSTEM_VCPU_CLOCKS_H

#include "hw/core/cpu.h"
#include "qapi/qapi-types-vcpu-clocks.h"
#include "qemu/timer.h"
#include "system/cpu-timers.h"

/* The largest number of vCPUs. */
#define VCPU_CLOCKS_MAX 32

/* Defaults, if no cpu-timing object gives other values. */
#define VCPU_CLOCKS_QUANTUM_PS 100000
#define VCPU_CLOCKS_IPI_PS 500000

extern bool vcpu_clocks_on;

/*
 * Enable this scheduling if @vcpus is more than one. False, with an error, if
 * more vCPUs may be plugged in (@most is larger) or there are too many.
 */
bool vcpu_clocks_enable(unsigned vcpus, unsigned most, Error **errp);
/*
 * Set how far a vCPU may be ahead, and how long an interrupt to another vCPU
 * takes. @host_ends_slices injects a fault for tests: a slice that the host
 * interrupts does not go on.
 */
void vcpu_clocks_configure(uint64_t quantum_ps, uint64_t ipi_ps,
                           bool host_ends_slices);

/*
 * Seed: selects one of many runs that the machine might equally have made. With
 * seed 0 the functions below change nothing. Another seed also changes the
 * order of vCPUs with equal clocks.
 */
void vcpu_clocks_seed(uint64_t seed);
bool vcpu_clocks_have_seed(void);
/*
 * Before the guest's job: advance all clocks by less than a tick of the guest's
 * kernel, so that the job begins at another phase of the tick. Not while a vCPU
 * runs guest code.
 */
void vcpu_clocks_shift_tick(void);
/*
 * When a region of interest begins, in work for @cpu: advance all clocks in the
 * same way, but not as far as the next timer, which would fall due in the
 * region. Also spread the clocks of several vCPUs by less than a quantum.
 */
void vcpu_clocks_scatter(CPUState *cpu);

/* The vCPU thread, from its begin or, after a fork, from the same state. */
G_NORETURN void vcpu_clocks_run(void);

/*
 * The clock of @cpu while it runs, or in work for it; otherwise, and if @cpu is
 * NULL, the floor.
 */
uint64_t vcpu_clocks_now_ps(CPUState *cpu);
/* All clocks advance at another rate. Not while a vCPU runs guest code. */
void vcpu_clocks_set_rate(IcountRateId id);

/* Counters since the last reset; NULL with one vCPU. */
VCPUOrder *vcpu_clocks_order(void);
void vcpu_clocks_reset_order(void);

/*
 * Instructions and times of each vCPU since the last reset, also with one vCPU.
 * The time of each is by its own clock, and consists of instructions, stalls
 * and idle time. Not while a vCPU runs guest code.
 */
VCPUTimeList *vcpu_clocks_times(void);
void vcpu_clocks_reset_times(void);

/*
 * Within a slice
 */

/*
 * Convert a time that is meant for the region of interest: a quantum, an IPI,
 * PAUSE. Outside the region, where an instruction takes longer, the result is
 * the time of as many instructions. Otherwise a vCPU that waits for another one
 * would poll far more often there.
 */
uint64_t vcpu_clocks_at_rate(uint64_t ps);

/* Let the slice end when the running vCPU next leaves guest code. */
void vcpu_clocks_end_slice(void);
/*
 * The next block is longer than the rest of the slice. Returns whether the
 * slice ends here, between two blocks.
 */
bool vcpu_clocks_end_before_block(CPUState *cpu);
/* An interrupt was raised for @cpu. */
void vcpu_clocks_interrupt(CPUState *cpu);
/* When an IPI sent now arrives, call @deliver with @message, which it frees. */
void vcpu_clocks_send(CPUState *cpu, QEMUTimerCB *deliver, void *message);

/*
 * Order. The caller has not yet changed anything for the instruction at @ra. If
 * the running vCPU is too far ahead, the functions below do not return: the
 * vCPU leaves the block, and executes the instruction again when the others
 * have caught up. The least vCPU never waits. No instruction waits twice unless
 * it is a microsecond ahead: otherwise other vCPUs could take away the awaited
 * line again and again, for ever. With @ra 0 the caller is not in translated
 * code, and cannot wait.
 */

/*
 * An access at @now_ps to state that vCPUs share, at most a quantum ahead.
 * Returns the time at which the access counts: earlier than @now_ps if an
 * access that cannot wait is too far ahead.
 */
uint64_t vcpu_clocks_share(CPUState *cpu, uint64_t now_ps, uintptr_t ra);
/* A read of the clock, or an access to a device: not ahead at all. */
void vcpu_clocks_in_order(CPUState *cpu, uintptr_t ra);
/*
 * Begin a locked instruction, the last of its block, which waits here if it
 * must, and not at its accesses. When it is executed again after the wait,
 * vcpu_clocks_lock_begun() returns true.
 */
void vcpu_clocks_lock(CPUState *cpu, uintptr_t ra);
bool vcpu_clocks_lock_begun(CPUState *cpu);
/* Whether the running vCPU is in a locked instruction, after this wait. */
bool vcpu_clocks_locked(CPUState *cpu);
/*
 * A locked instruction of the running vCPU has stalled for its line. The slice
 * ends after the instruction if another core may have had the line.
 */
void vcpu_clocks_lock_stalled(CPUState *cpu, uint64_t stall_ps);

#endif
