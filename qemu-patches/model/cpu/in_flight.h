/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines on their way and when they arrive: a hash over a queue in the order
 * they were sent, which is also the order in which arrived ones are forgotten.
 */
#ifndef MODEL_IN_FLIGHT_H
#define MODEL_IN_FLIGHT_H

#include "../base/units.h"

#define MEM_NOT_SENT UINT64_MAX /* an arrival time: still waits to be sent */

typedef struct MemInFlightLine {
    uint64_t line;
    mem_ps arrives_ps; /* MEM_NOT_SENT: not before somebody sends it */
    mem_ps asked_ps;   /* or, once it is, when it was sent */
    uint32_t older;    /* entry of the same bucket */
    bool far;          /* the caller's: a line of a device */
    uint8_t core;      /* the caller's: who asked for it */
} MemInFlightLine;

typedef struct MemInFlight {
    MemInFlightLine *lines; /* a ring of `room`, a power of two */
    uint32_t *buckets;
    uint64_t first; /* entries are numbered from the beginning of time */
    uint64_t end;
    uint64_t next_unsent; /* no entry before it waits to be sent */
    uint64_t unsent_count;
    uint32_t room;
} MemInFlight;

void mem_in_flight_init(MemInFlight *f);
void mem_in_flight_destroy(MemInFlight *f);
void mem_in_flight_clear(MemInFlight *f);

/*
 * Add one, asked for at `asked_ps`, which may be later than now; forgets those
 * at the head of the queue that have arrived by now.
 */
MemInFlightLine *mem_in_flight_add(MemInFlight *f, uint64_t line, mem_ps asked_ps, mem_ps arrives_ps, mem_ps now_ps);
/* The newest entry of a line, or NULL. */
MemInFlightLine *mem_in_flight_find(const MemInFlight *f, uint64_t line);
/* The oldest entry that waits to be sent, or NULL; and it has been sent, or another that waited. */
MemInFlightLine *mem_in_flight_unsent(MemInFlight *f);
void mem_in_flight_sent(MemInFlight *f, MemInFlightLine *line, mem_ps sent_ps, mem_ps arrives_ps);
/* How many this core had sent and had not arrived at this instant, of those not forgotten. For tests. */
uint64_t mem_in_flight_count(const MemInFlight *f, uint8_t core, mem_ps at_ps);

#endif
