/*
 * The host CPU's side of the memory timing model, as a user-creatable object.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_MEM_CPU_TIMING_H
#define HW_MEM_CPU_TIMING_H

#include "hw/mem/memsys/memsys.h"

#define TYPE_CPU_TIMING "cpu-timing"

/* The configuration of the one -object cpu-timing, or NULL without one. */
const MemCpuConfig *cpu_timing_config(void);

/*
 * What CPUID says of caches: EAX to EDX of @leaf and its part @count, which
 * hold what the CPU model says, and keep that without an object.
 */
void cpu_timing_cpuid(uint32_t leaf, uint32_t count, uint32_t regs[4]);

/* Whether a thread of its own works on accesses to local DRAM. */
bool cpu_timing_helper_thread(void);

#endif
