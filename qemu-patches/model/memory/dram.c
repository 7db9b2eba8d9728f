/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dram.h"

void mem_dram_init(MemDram *d, const MemCpuConfig *config) {
    d->configured = (MemDramTiming){
        .latency_ps = config->dram_latency_ps,
        .transfer_ps = mem_line_transfer_ps(config->dram_bandwidth),
    };
    mem_dram_set_timed(d, false);
}

void mem_dram_set_timed(MemDram *d, bool timed) {
    d->active = timed ? d->configured : (MemDramTiming){0};
    mem_calendar_clear(&d->channel);
}

mem_ps mem_dram_read(MemDram *d, mem_ps at_ps) { return mem_dram_write(d, at_ps) + d->active.latency_ps; }

mem_ps mem_dram_write(MemDram *d, mem_ps at_ps) {
    return mem_calendar_reserve(&d->channel, at_ps, d->active.transfer_ps) + d->active.transfer_ps;
}
