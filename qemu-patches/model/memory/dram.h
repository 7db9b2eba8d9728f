/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Local DRAM: a latency, and one channel that transfers one line at a time. A
 * request takes the first free gap of the channel: a core that waits for a
 * buffer reserves a future time, and other cores use the channel until then.
 */
#ifndef MODEL_DRAM_H
#define MODEL_DRAM_H

#include "../base/calendar.h"
#include "../config/cpu.h"

typedef struct MemDramTiming {
    mem_ps latency_ps;
    mem_ps transfer_ps;
} MemDramTiming;

typedef struct MemDram {
    MemDramTiming configured;
    MemDramTiming active; /* all zero outside the region of interest */
    MemCalendar channel;
} MemDram;

void mem_dram_init(MemDram *d, const MemCpuConfig *config);
void mem_dram_set_timed(MemDram *d, bool timed);

/* Returns when the line arrives at the LLC. */
mem_ps mem_dram_read(MemDram *d, mem_ps at_ps);
/* Returns when the line has crossed the channel, which is when DRAM accepts it. */
mem_ps mem_dram_write(MemDram *d, mem_ps at_ps);

#endif
