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
 * Adapt CPUID to the timed caches and, with several vCPUs, hide MONITOR. @regs
 * are EAX to EDX of @leaf and subleaf @count, with the values of the CPU model.
 * Without an object they stay as they are.
 */
void cpu_timing_cpuid(uint32_t leaf, uint32_t count, uint32_t regs[4]);

/* Whether a separate thread works on accesses to local DRAM. */
bool cpu_timing_helper_thread(void);

#endif
