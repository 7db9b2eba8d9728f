/*
 * Several vCPUs in one thread, each with a virtual clock of its own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Of the vCPUs that can run, the one whose clock is least runs (ties by index),
 * until the next event or until it is a quantum ahead of the second least. So
 * the order in which instructions of several vCPUs are executed is a function
 * of the guest's state alone. The clock of the vCPU that runs is where
 * -icount keeps the only one of a machine with one vCPU; between slices the
 * floor is there: the least clock, before which nothing can happen any more.
 *
 * With one vCPU nothing of this is in use, and vcpu_clocks_on is false.
 */
#ifndef SYSTEM_VCPU_CLOCKS_H
#define SYSTEM_VCPU_CLOCKS_H

#include "hw/core/cpu.h"
#include "qapi/qapi-types-vcpu-clocks.h"
#include "qemu/timer.h"
#include "system/cpu-timers.h"

/* So many vCPUs at most. */
#define VCPU_CLOCKS_MAX 32

/* Where no cpu-timing object says otherwise. */
#define VCPU_CLOCKS_QUANTUM_PS 100000
#define VCPU_CLOCKS_IPI_PS 500000

extern bool vcpu_clocks_on;

/*
 * Whether a machine of @vcpus, of which more may be plugged in up to @most, can
 * be run so; if yes, it is.
 */
bool vcpu_clocks_enable(unsigned vcpus, unsigned most, Error **errp);
/*
 * How far a vCPU may be ahead, and how long an interrupt goes to another. For
 * tests, @host_ends_slices is a fault: what the host interrupts does not go on.
 */
void vcpu_clocks_configure(uint64_t quantum_ps, uint64_t ipi_ps,
                           bool host_ends_slices);

/* The vCPU thread, from its begin on or, after a fork, from where it was. */
G_NORETURN void vcpu_clocks_run(void);

/*
 * The clock of @cpu in work for it, or while it runs; the floor otherwise, and
 * without a vCPU.
 */
uint64_t vcpu_clocks_now_ps(CPUState *cpu);
/* All clocks go on at another rate. Not while a vCPU runs guest code. */
void vcpu_clocks_set_rate(IcountRateId id);

/* What was counted since the reset; NULL with one vCPU. */
VCPUOrder *vcpu_clocks_order(void);
void vcpu_clocks_reset_order(void);

/*
 * What each vCPU has done since the reset, of one vCPU, too. The time of each
 * is by its own clock, and consists of instructions, stalls and idle time. Not
 * while a vCPU runs guest code.
 */
VCPUTimeList *vcpu_clocks_times(void);
void vcpu_clocks_reset_times(void);

/*
 * What happens within a slice
 */

/*
 * A time that is of the region of interest: a quantum, an IPI, PAUSE. Outside
 * it, where an instruction takes longer, it is that of as many instructions. A
 * vCPU that waits for another one would else look for it far more often there.
 */
uint64_t vcpu_clocks_at_rate(uint64_t ps);

/* The slice of the running vCPU ends with what it executes. */
void vcpu_clocks_end_slice(void);
/*
 * The next block is longer than the rest of the slice: whether that ends here,
 * between two blocks.
 */
bool vcpu_clocks_end_before_block(CPUState *cpu);
/* An interrupt was raised for @cpu. */
void vcpu_clocks_interrupt(CPUState *cpu);
/* Call @deliver with @message, which it frees, when an IPI sent now arrives. */
void vcpu_clocks_send(CPUState *cpu, QEMUTimerCB *deliver, void *message);

/*
 * Order. These come before the instruction at @ra has changed anything. If the
 * running vCPU is too far ahead, they do not return: it leaves the block, and
 * executes the instruction again when the others have caught up. The least
 * vCPU never waits, and no instruction waits twice, but for long: what it had
 * to wait for may be taken away from it meanwhile, for ever. @ra 0: not in
 * translated code, which alone can be left.
 */

/*
 * An access to what vCPUs share, at @now_ps: at most a quantum ahead. Returns
 * the time it is to be taken for, which of one that cannot wait is not its own.
 */
uint64_t vcpu_clocks_share(CPUState *cpu, uint64_t now_ps, uintptr_t ra);
/* A look at the clock, or an access to a device: not ahead at all. */
void vcpu_clocks_in_order(CPUState *cpu, uintptr_t ra);
/*
 * This instruction is a locked one and the last of its block. It waits here if
 * it has to, and is told then that it has begun, and not any more.
 */
void vcpu_clocks_lock(CPUState *cpu, uintptr_t ra);
bool vcpu_clocks_lock_begun(CPUState *cpu);
/* Whether the running vCPU is in such an instruction. */
bool vcpu_clocks_locked(CPUState *cpu);

#endif
