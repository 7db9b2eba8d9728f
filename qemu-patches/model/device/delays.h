/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time of one device request, divided by cause. The parts add up to the whole, to the picosecond. */
#ifndef MODEL_DELAYS_H
#define MODEL_DELAYS_H

#include "../base/units.h"

typedef struct MemDelays {
    mem_ps link_ps;    /* latency and wire time of its messages */
    mem_ps queue_ps;   /* waits for the link, the controller, the device DRAM, an MSHR, a frame */
    mem_ps cache_ps;   /* controller, look-up and access of the device cache */
    mem_ps flash_ps;   /* flash reads, also the rest of a read that another request started */
    mem_ps program_ps; /* waits for programs and erases of host data */
    mem_ps gc_ps;      /* waits for garbage collection */
} MemDelays;

static inline mem_ps mem_delays_sum(const MemDelays *d) {
    return d->link_ps + d->queue_ps + d->cache_ps + d->flash_ps + d->program_ps + d->gc_ps;
}

#endif
