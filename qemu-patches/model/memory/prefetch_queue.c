/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The prefetcher's requests: those that find no buffer wait for one, in order. */
#include "memory_internal.h"

void mem_memory_prefetch_sent(MemMemory *m, MemInFlightLine *wanted, mem_ps at_ps, mem_ps arrives_ps) {
    mem_in_flight_sent(&m->core.arrivals, wanted, at_ps, arrives_ps);
    m->core.far_unsent -= wanted->far;
}

void mem_memory_send_prefetch(MemMemory *m, MemInFlightLine *wanted, mem_ps at_ps) {
    mem_memory_prefetch_sent(m, wanted, at_ps, mem_memory_read_line(m, wanted->line, at_ps, false).done_ps);
}

void mem_memory_send_due_prefetches(MemMemory *m, mem_ps now_ps) {
    MemInFlightLine *wanted;

    while ((wanted = mem_in_flight_unsent(&m->core.arrivals))) {
        mem_ps at_ps = mem_core_prefetch_ready(&m->core, wanted->asked_ps);
        if (at_ps > now_ps) {
            return;
        }
        mem_memory_send_prefetch(m, wanted, at_ps);
        mem_core_prefetch_sent(&m->core, wanted->arrives_ps);
    }
}

void mem_memory_send_all_prefetches(MemMemory *m, mem_ps at_ps) {
    MemInFlightLine *wanted;

    while ((wanted = mem_in_flight_unsent(&m->core.arrivals))) {
        mem_memory_send_prefetch(m, wanted, at_ps);
    }
}

void mem_memory_prefetch(MemMemory *m, uint64_t line, mem_ps at_ps) {
    if (!m->timed) {
        mem_memory_read_line(m, line, at_ps, false);
        return;
    }
    MemInFlightLine *wanted = mem_in_flight_add(&m->core.arrivals, line, at_ps, MEM_NOT_SENT, m->reached_ps);
    uint64_t device_line;

    m->count->prefetches++;
    wanted->far = mem_memory_route(m, line, &device_line) != NULL;
    m->core.far_unsent += wanted->far;
    mem_memory_send_due_prefetches(m, at_ps);
}
