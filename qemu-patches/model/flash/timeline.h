/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The operations of a flash plane or channel: spans in order of time that never
 * overlap. Unlike a MemCalendar, a timeline knows the kind of operation for which a
 * request waits, can place a short transfer into a gap, and can let a read suspend
 * another operation.
 *
 * The newest past spans are kept, so that a request that comes a little out of
 * order finds the time as it was. Older spans are forgotten: nothing is placed
 * before their end.
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
    mem_ps began_ps; /* start of the operation that this span continues after a suspension; else start_ps */
    uint64_t page;   /* page of the program that ends with this span, or MEM_BUSY_UNNAMED */
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

/* A read suspended or overtook a program, which now ends later than reported. Its page and its old end identify it. */
typedef struct MemProgramMove {
    uint64_t page;
    mem_ps old_end_ps; /* the end reported before */
    mem_ps start_ps;
    mem_ps end_ps;
} MemProgramMove;

typedef struct MemMoveListener {
    void (*moved)(void *opaque, const MemProgramMove *move); /* may be NULL */
    void *opaque;
} MemMoveListener;

void mem_timeline_destroy(MemTimeline *t);
/* Free the timeline at all times from 0. */
void mem_timeline_clear(MemTimeline *t);

/* A request is made at `at_ps`: when memory runs short, most spans that have ended by then are forgotten. */
void mem_timeline_forget(MemTimeline *t, mem_ps at_ps);

/* Take `span_ps` after all spans so far, from `at_ps` at the earliest; returns its start. */
mem_ps mem_timeline_append(MemTimeline *t, mem_ps at_ps, const MemBusySpan *what, mem_ps span_ps, MemBusyWaits *waits);

/* Take the first gap of `span_ps` from `at_ps` on; returns its start. `span_ps` is not 0. */
mem_ps mem_timeline_fit(MemTimeline *t, mem_ps at_ps, MemBusyWith with, mem_ps span_ps, MemBusyWaits *waits);

/*
 * Place a read of `span_ps` that waits only for earlier reads and until `after_ps`.
 * It overtakes operations that have not begun and suspends one that has, which
 * costs the read `suspend_ps`. The operations that it displaces move back. Returns
 * the start of the read itself, after the suspension.
 */
mem_ps mem_timeline_preempt(MemTimeline *t, mem_ps at_ps, mem_ps after_ps, mem_ps span_ps, mem_ps suspend_ps,
                            MemBusyWaits *waits, const MemMoveListener *listener);

/* When a program of the page that is under way or planned after `at_ps` ends; 0 if there is no such program. */
mem_ps mem_timeline_program_end(const MemTimeline *t, uint64_t page, mem_ps at_ps);
/* Fix the past until `until_ps`: no span is placed or moved before that time. */
void mem_timeline_settle(MemTimeline *t, mem_ps until_ps);
/* When all spans so far have ended. */
mem_ps mem_timeline_end(const MemTimeline *t);

/* NULL, or the broken law. */
const char *mem_timeline_check(const MemTimeline *t);

#endif
