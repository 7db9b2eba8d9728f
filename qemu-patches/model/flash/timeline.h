/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a flash plane or channel is busy with, and when: spans in order of time
 * that never overlap. Unlike a MemCalendar it knows whom a request waits for, can
 * place a short transfer into a gap and can let a read suspend what is not one.
 *
 * The newest spans of the past are kept, so that a request that comes a little
 * out of order finds the time as it was. Older ones are forgotten: nothing is
 * placed before their end.
 */
#ifndef MODEL_TIMELINE_H
#define MODEL_TIMELINE_H

#include "../base/serial.h"

typedef enum MemBusyWith {
    MEM_BUSY_READ,
    MEM_BUSY_PROGRAM, /* of the host's data */
    MEM_BUSY_GC,
    MEM_BUSY_KINDS,
} MemBusyWith;

#define MEM_BUSY_UNNAMED UINT64_MAX

typedef struct MemBusySpan {
    mem_ps start_ps;
    mem_ps end_ps;
    mem_ps began_ps; /* start of the operation of which this is the rest; else start_ps */
    uint64_t page;   /* whose program ends with this span, or MEM_BUSY_UNNAMED */
    MemBusyWith with;
} MemBusySpan;

typedef struct MemTimeline {
    MemBusySpan *spans;
    uint32_t count;
    uint32_t room;
    mem_ps settled_ps; /* nothing is placed or moved before this */
} MemTimeline;

/* How long a request waited for each kind. */
typedef struct MemBusyWaits {
    mem_ps for_ps[MEM_BUSY_KINDS];
} MemBusyWaits;

/* A read suspended or overtook the program of a page: it is later than was said, by nothing but its times. */
typedef struct MemProgramMove {
    uint64_t page;
    mem_ps old_end_ps; /* what it was known by */
    mem_ps start_ps;
    mem_ps end_ps;
} MemProgramMove;

typedef struct MemMoveListener {
    void (*moved)(void *opaque, const MemProgramMove *move); /* may be NULL */
    void *opaque;
} MemMoveListener;

void mem_timeline_destroy(MemTimeline *t);
/* Free at all times from 0. */
void mem_timeline_clear(MemTimeline *t);

/* A request is made at `at_ps`: when memory runs short, most of what has ended by then is forgotten. */
void mem_timeline_forget(MemTimeline *t, mem_ps at_ps);

/* Take `span_ps` after everything so far and from `at_ps` at the earliest; returns its start. */
mem_ps mem_timeline_append(MemTimeline *t, mem_ps at_ps, const MemBusySpan *what, mem_ps span_ps, MemBusyWaits *waits);

/* Take the first gap of `span_ps` from `at_ps` on; returns its start. `span_ps` is not 0. */
mem_ps mem_timeline_fit(MemTimeline *t, mem_ps at_ps, MemBusyWith with, mem_ps span_ps, MemBusyWaits *waits);

/*
 * A read of `span_ps` that waits only for the reads before it and until
 * `after_ps`: it overtakes what has not begun and suspends what has, which costs
 * it `suspend_ps`. All that was to happen meanwhile moves. Returns the start of
 * its own span, after the suspension.
 */
mem_ps mem_timeline_preempt(MemTimeline *t, mem_ps at_ps, mem_ps after_ps, mem_ps span_ps, mem_ps suspend_ps,
                            MemBusyWaits *waits, const MemMoveListener *listener);

/* When the program of a page under way or to come after `at_ps` ends; 0 if there is none. */
mem_ps mem_timeline_program_end(const MemTimeline *t, uint64_t page, mem_ps at_ps);
/* Let nothing move that ends by `until_ps`. */
void mem_timeline_settle(MemTimeline *t, mem_ps until_ps);
/* When everything so far has ended. */
mem_ps mem_timeline_end(const MemTimeline *t);

/* NULL, or the law that is broken. */
const char *mem_timeline_check(const MemTimeline *t);

#endif
