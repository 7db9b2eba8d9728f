/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines under way and their arrival times: a hash over a queue in the order of
 * sending. Arrived lines are forgotten in this order, too.
 */
#ifndef MODEL_IN_FLIGHT_H
#define MODEL_IN_FLIGHT_H

#include "../base/units.h"

#define MEM_NOT_SENT UINT64_MAX /* an arrival time: the line still waits to be sent */

typedef struct MemInFlightLine {
    uint64_t line;
    mem_ps arrives_ps; /* MEM_NOT_SENT until the line is sent */
    mem_ps asked_ps;   /* when the line was requested or, once sent, when it was sent */
    uint32_t older;    /* next older entry of the same bucket */
    bool far;          /* for the caller: a line of a device */
    uint8_t core;      /* for the caller: the core that requested it */
} MemInFlightLine;

typedef struct MemInFlight {
    MemInFlightLine *lines; /* a ring of `room`, a power of two */
    uint32_t *buckets;
    uint64_t first; /* entries are numbered since the last clear */
    uint64_t end;
    uint64_t next_unsent; /* no earlier entry waits to be sent */
    uint64_t unsent_count;
    uint32_t room;
} MemInFlight;

void mem_in_flight_init(MemInFlight *f);
void mem_in_flight_destroy(MemInFlight *f);
void mem_in_flight_clear(MemInFlight *f);

/*
 * Add a line, requested at `asked_ps`, which may be later than now. Forgets the
 * lines at the head of the queue that have arrived by `now_ps`.
 */
MemInFlightLine *mem_in_flight_add(MemInFlight *f, uint64_t line, mem_ps asked_ps, mem_ps arrives_ps, mem_ps now_ps);
/* The newest entry of a line, or NULL. */
MemInFlightLine *mem_in_flight_find(const MemInFlight *f, uint64_t line);
/* The oldest entry that waits to be sent, or NULL; then record that it, or another waiting entry, has been sent. */
MemInFlightLine *mem_in_flight_unsent(MemInFlight *f);
void mem_in_flight_sent(MemInFlight *f, MemInFlightLine *line, mem_ps sent_ps, mem_ps arrives_ps);
/* How many lines of this core were under way at `at_ps`, among the lines not forgotten. For tests. */
uint64_t mem_in_flight_count(const MemInFlight *f, uint8_t core, mem_ps at_ps);

#endif
