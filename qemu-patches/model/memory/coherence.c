/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of other cores in a request: another core has asked for the line
 * before, holds it, or holds it dirty. Not used with one core.
 */
#include "memory_internal.h"

#include "../base/seeded_bug.h"

mem_ps mem_memory_over_by(const MemMemory *m) {
    return m->called_ps > MEM_CORES_APART_PS ? m->called_ps - MEM_CORES_APART_PS : 0;
}

void mem_memory_note_under_way(MemMemory *m, const MemCore *c, uint64_t line, mem_ps sent_ps, mem_ps arrives_ps) {
    if (m->timed) {
        mem_in_flight_add(&m->under_way, line, sent_ps, arrives_ps, mem_memory_over_by(m))->core = c->number;
    }
}

mem_ps mem_memory_other_has(const MemMemory *m, const MemCore *c, uint64_t line, mem_ps at_ps) {
    const MemInFlightLine *sent = mem_in_flight_find(&m->under_way, line);
    return sent && sent->core != c->number ? mem_later(sent->arrives_ps, at_ps) : at_ps;
}

/* The core that still waits to send a prefetch of the line, or NULL. */
static MemCore *waits_to_send(const MemMemory *m, uint64_t line, MemInFlightLine **wanted) {
    for (uint32_t i = 0; i < m->core_count; i++) {
        MemCore *other = m->cores[i];
        *wanted = other->arrivals.unsent_count ? mem_in_flight_find(&other->arrivals, line) : NULL;
        if (*wanted && (*wanted)->arrives_ps == MEM_NOT_SENT) {
            return other;
        }
    }
    return NULL;
}

bool mem_memory_is_under_way(const MemMemory *m, const MemCore *c, uint64_t line, mem_ps at_ps) {
    const MemInFlightLine *sent = mem_in_flight_find(&m->under_way, line);
    MemInFlightLine *wanted;

    if (MEM_HAS_BUG(MEM_BUG_HIT_BEFORE_ARRIVAL)) {
        return false;
    }
    if (sent && sent->core != c->number && sent->arrives_ps > at_ps) {
        return true;
    }
    const MemCore *waits = waits_to_send(m, line, &wanted);
    return waits && waits != c;
}

mem_ps mem_memory_join(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps) {
    MemInFlightLine *wanted;
    MemCore *waits = waits_to_send(m, line, &wanted);

    if (waits) {
        mem_ps done_ps = mem_memory_demand(m, c, line, at_ps, false).done_ps;
        wanted->core = c->number;
        mem_memory_prefetch_sent(waits, wanted, c->issued_ps, done_ps);
        return done_ps;
    }
    const MemInFlightLine *sent = mem_in_flight_find(&m->under_way, line);
    if (!sent || sent->arrives_ps <= at_ps) {
        return at_ps;
    }
    mem_ps arrives_ps = sent->arrives_ps;
    c->issued_ps = mem_slots_ready(&c->fill_buffers, at_ps);
    mem_ps there_ps = mem_later(arrives_ps, c->issued_ps);
    mem_slots_take(&c->fill_buffers, there_ps);
    return there_ps;
}

mem_ps mem_memory_from_others(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps, mem_ps span_ps) {
    MemInFlightLine *wanted;
    MemCore *waits = waits_to_send(m, line, &wanted);
    mem_ps issued_ps = mem_core_demand_ready(c, at_ps), there_ps = issued_ps;

    if (waits) {
        there_ps = mem_memory_read_line(m, c, line, issued_ps, false).done_ps;
        wanted->core = c->number;
        mem_memory_prefetch_sent(waits, wanted, issued_ps, there_ps);
    } else {
        const MemInFlightLine *sent = mem_in_flight_find(&m->under_way, line);
        there_ps = sent ? mem_later(sent->arrives_ps, issued_ps) : issued_ps;
    }
    mem_ps done_ps = there_ps + span_ps;
    c->issued_ps = issued_ps;
    mem_core_demand_sent(c, done_ps);
    mem_memory_note_under_way(m, c, line, issued_ps, done_ps);
    return done_ps;
}

void mem_memory_send_for_other(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps) {
    assert(op->kind == MEM_OP_NT_SEND);
    mem_memory_send_wc_buffer(m, c, op, at_ps);
}
