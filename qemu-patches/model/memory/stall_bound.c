/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Upper bound of the stalls of local accesses. */
#include "memory_internal.h"

#define VICTIMS 3u /* most dirty lines that one fetch or prefetch evicts from the LLC */

mem_ps mem_memory_local_bound(const MemMemory *m, mem_ps now_ps, uint32_t accesses, uint32_t prefetches) {
    const MemCore *c = m->cores[0]; /* the only core: accesses are posted with one core only */
    const MemDramTiming *dram = &m->dram.active;
    mem_ps busy_ps = mem_calendar_end(&m->dram.channel) + c->arrivals.unsent_count * dram->transfer_ps;
    mem_ps all_done_ps = mem_later(busy_ps + dram->latency_ps, mem_core_all_done(c, now_ps));
    mem_ps way_ps = m->llc_ps + dram->latency_ps; /* twice: a miss may wait for a prefetch sent just before it */
    mem_ps each_ps = 2 * way_ps + (1 + VICTIMS) * (1 + prefetches) * dram->transfer_ps;

    return mem_later(all_done_ps, now_ps) - now_ps + accesses * each_ps;
}
