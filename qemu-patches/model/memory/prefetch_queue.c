/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The prefetcher's requests. A request that finds no free buffer waits for one, in order. */
#include "memory_internal.h"

void mem_memory_prefetch_sent(MemCore *c, MemInFlightLine *wanted, mem_ps at_ps, mem_ps arrives_ps) {
    mem_in_flight_sent(&c->arrivals, wanted, at_ps, arrives_ps);
    c->far_unsent -= wanted->far;
}

/* Send a prefetch that has waited for a buffer. */
static void send_prefetch(MemMemory *m, MemCore *c, MemInFlightLine *wanted, mem_ps at_ps) {
    mem_memory_prefetch_sent(c, wanted, at_ps, mem_memory_read_line(m, c, wanted->line, at_ps, false).done_ps);
}

void mem_memory_send_due_prefetches(MemMemory *m, MemCore *c, mem_ps now_ps) {
    MemInFlightLine *wanted;

    while ((wanted = mem_in_flight_unsent(&c->arrivals))) {
        mem_ps at_ps = mem_core_prefetch_ready(c, wanted->asked_ps);
        if (at_ps > now_ps) {
            return;
        }
        send_prefetch(m, c, wanted, at_ps);
        mem_core_prefetch_sent(c, wanted->arrives_ps);
    }
}

void mem_memory_send_all_prefetches(MemMemory *m, MemCore *c, mem_ps at_ps) {
    MemInFlightLine *wanted;

    while ((wanted = mem_in_flight_unsent(&c->arrivals))) {
        send_prefetch(m, c, wanted, at_ps);
    }
}

void mem_memory_prefetch(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps) {
    if (!m->timed) {
        mem_memory_read_line(m, c, line, at_ps, false);
        return;
    }
    MemInFlightLine *wanted = mem_in_flight_add(&c->arrivals, line, at_ps, MEM_NOT_SENT, c->reached_ps);
    uint64_t device_line;

    c->count->prefetches++;
    wanted->core = c->number;
    wanted->far = mem_memory_route(m, line, &device_line) != NULL;
    c->far_unsent += wanted->far;
    mem_memory_send_due_prefetches(m, c, at_ps);
}
