/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Local DRAM: a latency, and one channel that moves a line at a time. A request
 * takes the first gap: a core that waits for a buffer asks for a time that is
 * yet to come, and the other cores use the channel until then.
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

/* When the line is at the LLC. */
mem_ps mem_dram_read(MemDram *d, mem_ps at_ps);
/* When the line has crossed the channel, which is when DRAM accepts it. */
mem_ps mem_dram_write(MemDram *d, mem_ps at_ps);

#endif
