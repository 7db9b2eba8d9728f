/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A resource that serves one request at a time, in the order of readiness: a link
 * direction, the device's controller, its DRAM. Requests arrive in the order in
 * which the host issued them, but a request that waits for its page to be read
 * becomes ready long after the requests behind it, which must not wait for it. So a
 * reservation takes the first gap that is long enough, at or after the time at
 * which the request is ready.
 *
 * The calendar remembers the last MEM_CALENDAR_SPANS busy spans, where touching
 * spans count as one. Gaps before them are lost.
 */
#ifndef MODEL_CALENDAR_H
#define MODEL_CALENDAR_H

#include "serial.h"

#define MEM_CALENDAR_SPANS 64u

typedef struct MemSpan {
    mem_ps start_ps;
    mem_ps end_ps;
} MemSpan;

typedef struct MemCalendar {
    mem_ps floor_ps;                       /* no reservation starts earlier */
    uint32_t first;                        /* index of the earliest span in use */
    uint32_t last;                         /* index of the latest span; never below first */
    MemSpan spans[2 * MEM_CALENDAR_SPANS]; /* moved down when the end of the array is reached */
} MemCalendar;

/* Forget all reservations. */
void mem_calendar_clear(MemCalendar *c);

/* The start of the first gap of `span_ps` at or after `at_ps`, without a reservation. */
mem_ps mem_calendar_probe(const MemCalendar *c, mem_ps at_ps, mem_ps span_ps);

/* The end of the latest span: nothing is reserved after it. */
static inline mem_ps mem_calendar_end(const MemCalendar *c) { return c->spans[c->last].end_ps; }

/* Reserve the gap that mem_calendar_probe() finds; the rare case of a gap before other spans. */
mem_ps mem_calendar_insert(MemCalendar *c, mem_ps at_ps, mem_ps span_ps);
/* Add a new latest span. */
void mem_calendar_append(MemCalendar *c, mem_ps start_ps, mem_ps end_ps);

/* Reserve the first gap of `span_ps` at or after `at_ps`; returns its start. A span of 0 reserves nothing. */
static inline mem_ps mem_calendar_reserve(MemCalendar *c, mem_ps at_ps, mem_ps span_ps) {
    MemSpan *latest = &c->spans[c->last];

    if (span_ps == 0) {
        return at_ps;
    }
    if (at_ps < latest->end_ps) {
        return mem_calendar_insert(c, at_ps, span_ps);
    }
    if (at_ps == latest->end_ps) {
        latest->end_ps += span_ps;
    } else {
        mem_calendar_append(c, at_ps, at_ps + span_ps);
    }
    return at_ps;
}

#endif
