/*
 * Capture of what the CPU's caches ask of memory, for the doorbell;
 * nothing happens without -object mem-trace.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_MEM_MEM_TRACE_H
#define HW_MEM_MEM_TRACE_H

#include "hw/mem/memsys/memsys.h"

/*
 * Region of interest @id began, after the switch to timed mode, or ended,
 * after the switch back, with the counters @at_end; NULL: it begins.
 */
void mem_trace_roi(uint32_t id, const MemCounters *at_end);

/* Whether there is a trace. */
bool mem_trace_is_on(void);

#endif
