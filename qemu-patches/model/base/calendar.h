/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Something that does one thing at a time for whoever is ready first: a link
 * direction, the device's controller, its DRAM. Requests come in the order the
 * host issued them, but one whose page is still being read is ready long after
 * those behind it, which must not wait for it. So a reservation takes the first
 * gap that is long enough, not before the request is ready.
 *
 * The last MEM_CALENDAR_SPANS busy spans are remembered, touching ones as one;
 * gaps before them are lost.
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
    mem_ps floor_ps;                       /* nothing starts before */
    uint32_t first;                        /* of the spans in use, the earliest */
    uint32_t last;                         /* the latest; never below first */
    MemSpan spans[2 * MEM_CALENDAR_SPANS]; /* moved down when the end is reached */
} MemCalendar;

/* Nothing is reserved any more. */
void mem_calendar_clear(MemCalendar *c);

/* When the first gap of `span_ps` at or after `at_ps` starts, without taking it. */
mem_ps mem_calendar_probe(const MemCalendar *c, mem_ps at_ps, mem_ps span_ps);

/* When the latest span ends: nothing is reserved after it. */
static inline mem_ps mem_calendar_end(const MemCalendar *c) { return c->spans[c->last].end_ps; }

/* Take it. Out of the ordinary: the gap is not after all others. */
mem_ps mem_calendar_insert(MemCalendar *c, mem_ps at_ps, mem_ps span_ps);
/* A new latest span. */
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
