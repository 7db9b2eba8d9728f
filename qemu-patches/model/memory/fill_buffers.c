/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines that somebody waits for: each has a fill buffer until it is there. */
#include "memory_internal.h"

#include "../base/seeded_bug.h"

MemRead mem_memory_demand(MemMemory *m, uint64_t line, mem_ps at_ps, bool load) {
    m->issued_ps = mem_core_demand_ready(&m->core, at_ps);
    MemRead r = mem_memory_read_line(m, line, m->issued_ps, load);
    mem_core_demand_sent(&m->core, r.done_ps);
    return r;
}

mem_ps mem_memory_arrival(MemMemory *m, uint64_t line, mem_ps at_ps) {
    MemInFlightLine *wanted = mem_in_flight_find(&m->core.arrivals, line);

    m->issued_ps = at_ps;
    if (!wanted || wanted->arrives_ps <= at_ps) {
        return at_ps;
    }
    if (MEM_HAS_BUG(MEM_BUG_TOUCH_WITHOUT_BUFFER)) {
        if (wanted->arrives_ps == MEM_NOT_SENT) {
            mem_memory_send_prefetch(m, wanted, at_ps);
        }
        return mem_later(wanted->arrives_ps, at_ps);
    }
    if (wanted->arrives_ps == MEM_NOT_SENT) {
        mem_ps done_ps = mem_memory_demand(m, line, at_ps, false).done_ps;
        mem_memory_prefetch_sent(m, wanted, m->issued_ps, done_ps);
        return done_ps;
    }
    m->issued_ps = mem_slots_ready(&m->core.fill_buffers, at_ps);
    mem_ps there_ps = mem_later(wanted->arrives_ps, m->issued_ps);
    mem_slots_take(&m->core.fill_buffers, there_ps);
    return there_ps;
}
