/*
 * Capture of the memory requests of the CPU's caches, for the doorbell; without
 * -object mem-trace nothing happens.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_MEM_MEM_TRACE_H
#define HW_MEM_MEM_TRACE_H

#include "hw/mem/memsys/memsys.h"

/*
 * Region of interest @id begins if @at_end is NULL; otherwise it ends with the
 * counters @at_end. Called after the switch to timed mode, or back.
 */
void mem_trace_roi(uint32_t id, const MemCounters *at_end);

/* Whether a trace is captured. */
bool mem_trace_is_on(void);

#endif
