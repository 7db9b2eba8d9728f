/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines on their way to a core, for which other cores may ask: requests that were sent, and prefetches that wait to be
 * sent. These functions only look up and record; fill_buffers.c waits. Not used with one core.
 */
#include "memory_internal.h"

mem_ps mem_memory_over_by(const MemMemory *m) {
    return m->called_ps > MEM_CORES_APART_PS ? m->called_ps - MEM_CORES_APART_PS : 0;
}

void mem_memory_note_under_way(MemMemory *m, const MemCore *c, uint64_t line, mem_ps sent_ps, mem_ps arrives_ps) {
    if (m->timed) {
        mem_in_flight_add(&m->under_way, line, sent_ps, arrives_ps, mem_memory_over_by(m))->core = c->number;
    }
}

mem_ps mem_memory_sent_arrives(const MemMemory *m, uint64_t line, mem_ps at_ps) {
    const MemInFlightLine *sent = mem_in_flight_find(&m->under_way, line);
    return sent ? mem_later(sent->arrives_ps, at_ps) : at_ps;
}

mem_ps mem_memory_other_has(const MemMemory *m, const MemCore *c, uint64_t line, mem_ps at_ps) {
    const MemInFlightLine *sent = mem_in_flight_find(&m->under_way, line);
    return sent && sent->core != c->number ? mem_later(sent->arrives_ps, at_ps) : at_ps;
}

MemCore *mem_memory_waits_to_send(const MemMemory *m, uint64_t line, MemInFlightLine **wanted) {
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
    MemInFlightLine *wanted;

    if (mem_memory_other_has(m, c, line, at_ps) > at_ps) {
        return true;
    }
    const MemCore *waits = mem_memory_waits_to_send(m, line, &wanted);
    return waits && waits != c;
}
