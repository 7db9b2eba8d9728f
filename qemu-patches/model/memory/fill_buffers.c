/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines that an access waits for: each occupies a fill buffer until it arrives. */
#include "memory_internal.h"

#include "../base/seeded_bug.h"

MemRead mem_memory_demand(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps, bool load) {
    c->issued_ps = mem_core_demand_ready(c, at_ps);
    MemRead r = mem_memory_read_line(m, c, line, c->issued_ps, load);
    mem_core_demand_sent(c, r.done_ps);
    return r;
}

mem_ps mem_memory_arrival(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps) {
    MemInFlightLine *wanted = mem_in_flight_find(&c->arrivals, line);

    c->issued_ps = at_ps;
    if (!wanted || wanted->arrives_ps <= at_ps) {
        return m->core_count > 1 ? mem_memory_join(m, c, line, at_ps) : at_ps;
    }
    if (MEM_HAS_BUG(MEM_BUG_TOUCH_WITHOUT_BUFFER)) {
        if (wanted->arrives_ps == MEM_NOT_SENT) {
            mem_memory_send_prefetch(m, c, wanted, at_ps);
        }
        return mem_later(wanted->arrives_ps, at_ps);
    }
    if (wanted->arrives_ps == MEM_NOT_SENT) {
        mem_ps done_ps = mem_memory_demand(m, c, line, at_ps, false).done_ps;
        mem_memory_prefetch_sent(c, wanted, c->issued_ps, done_ps);
        return done_ps;
    }
    c->issued_ps = mem_slots_ready(&c->fill_buffers, at_ps);
    mem_ps there_ps = mem_later(wanted->arrives_ps, c->issued_ps);
    mem_slots_take(&c->fill_buffers, there_ps);
    return there_ps;
}
