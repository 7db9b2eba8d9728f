/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines that an access waits for: each occupies a fill buffer until it arrives. */
#include "memory_internal.h"

MemRead mem_memory_demand(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps, bool load) {
    c->issued_ps = mem_core_demand_ready(c, at_ps);
    MemRead r = mem_memory_read_line(m, c, line, c->issued_ps, load);
    mem_core_demand_sent(c, r.done_ps);
    return r;
}

/* Send a prefetch that core `waits` has not sent yet, as a demand of `c`; returns when the line arrives. */
static mem_ps demand_prefetch(MemMemory *m, MemCore *c, MemCore *waits, MemInFlightLine *wanted, mem_ps at_ps) {
    mem_ps done_ps = mem_memory_demand(m, c, wanted->line, at_ps, false).done_ps;

    wanted->core = c->number;
    mem_memory_prefetch_sent(waits, wanted, c->issued_ps, done_ps);
    return done_ps;
}

/* Hold a fill buffer until a line that is under way arrives; returns when it has arrived. */
static mem_ps await_line(MemCore *c, mem_ps at_ps, mem_ps arrives_ps) {
    c->issued_ps = mem_slots_ready(&c->fill_buffers, at_ps);
    mem_ps there_ps = mem_later(arrives_ps, c->issued_ps);
    mem_slots_take(&c->fill_buffers, there_ps);
    return there_ps;
}

/* Returns when a line that another core asked for arrives. */
static mem_ps arrival_of_others(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps) {
    MemInFlightLine *wanted;
    MemCore *waits = mem_memory_waits_to_send(m, line, &wanted);

    if (waits) {
        return demand_prefetch(m, c, waits, wanted, at_ps);
    }
    mem_ps arrives_ps = mem_memory_sent_arrives(m, line, at_ps);
    return arrives_ps > at_ps ? await_line(c, at_ps, arrives_ps) : at_ps;
}

mem_ps mem_memory_arrival(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps) {
    MemInFlightLine *wanted = mem_in_flight_find(&c->arrivals, line);

    c->issued_ps = at_ps;
    if (!wanted || wanted->arrives_ps <= at_ps) {
        return m->core_count > 1 ? arrival_of_others(m, c, line, at_ps) : at_ps;
    }
    if (wanted->arrives_ps == MEM_NOT_SENT) {
        return demand_prefetch(m, c, c, wanted, at_ps);
    }
    return await_line(c, at_ps, wanted->arrives_ps);
}

mem_ps mem_memory_from_others(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps, mem_ps span_ps) {
    MemInFlightLine *wanted;
    MemCore *waits = mem_memory_waits_to_send(m, line, &wanted);
    mem_ps issued_ps = mem_core_demand_ready(c, at_ps), there_ps;

    if (waits) {
        there_ps = mem_memory_read_line(m, c, line, issued_ps, false).done_ps;
        wanted->core = c->number;
        mem_memory_prefetch_sent(waits, wanted, issued_ps, there_ps);
    } else {
        there_ps = mem_memory_sent_arrives(m, line, issued_ps);
    }
    mem_ps done_ps = there_ps + span_ps;
    c->issued_ps = issued_ps;
    mem_core_demand_sent(c, done_ps);
    mem_memory_note_under_way(m, c, line, issued_ps, done_ps);
    return done_ps;
}
