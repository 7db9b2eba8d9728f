/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>

#include "../base/mem_alloc.h"

#define FIRST_ROOM 32u
#define KEPT_PAST 16u /* past spans that are kept */

void mem_timeline_destroy(MemTimeline *t) { free(t->spans); }

void mem_timeline_clear(MemTimeline *t) {
    t->count = 0;
    t->settled_ps = 0;
}

mem_ps mem_timeline_end(const MemTimeline *t) {
    return t->count ? mem_later(t->settled_ps, t->spans[t->count - 1].end_ps) : t->settled_ps;
}

/* The first span that ends after `at_ps`. Searches from the newest span, since few spans end after it. */
static uint32_t first_after(const MemTimeline *t, mem_ps at_ps) {
    uint32_t i = t->count;
    while (i > 0 && t->spans[i - 1].end_ps > at_ps) {
        i--;
    }
    return i;
}

void mem_timeline_forget(MemTimeline *t, mem_ps at_ps) {
    uint32_t past = t->count + 2 > t->room ? first_after(t, at_ps) : 0;

    if (past > KEPT_PAST) {
        uint32_t gone = past - KEPT_PAST;
        mem_timeline_settle(t, t->spans[gone - 1].end_ps);
        t->count -= gone;
        memmove(t->spans, t->spans + gone, t->count * sizeof(*t->spans));
    }
    if (past && t->count > t->room / 2) {
        t->room *= 2; /* avoids another search soon */
        t->spans = mem_regrow(t->spans, t->room, sizeof(*t->spans));
    }
}

/* Make room for two more spans, the most that one request adds. */
static void make_room(MemTimeline *t) {
    if (t->count + 2 > t->room) {
        t->room = t->room ? t->room * 2 : FIRST_ROOM;
        t->spans = mem_regrow(t->spans, t->room, sizeof(*t->spans));
    }
}

static void insert(MemTimeline *t, uint32_t at, const MemBusySpan *span) {
    memmove(t->spans + at + 1, t->spans + at, (t->count - at) * sizeof(*t->spans));
    t->spans[at] = *span;
    t->count++;
}

/*
 * Insert a span. If it continues a span of the same kind, and both are unnamed, lengthen that span instead. Returns the
 * index of the span after it.
 */
static uint32_t insert_or_join(MemTimeline *t, uint32_t at, const MemBusySpan *span) {
    MemBusySpan *before = at ? &t->spans[at - 1] : NULL;

    if (before && before->with == span->with && before->end_ps == span->start_ps && before->page == MEM_BUSY_UNNAMED &&
        span->page == MEM_BUSY_UNNAMED) {
        before->end_ps = span->end_ps;
        return at;
    }
    insert(t, at, span);
    return at + 1;
}

/*
 * Charge a wait to the spans from `first` on, by their kinds. A gap too short to use is charged as the span after it.
 */
static void charge(const MemTimeline *t, uint32_t first, mem_ps from_ps, mem_ps to_ps, MemBusyWaits *waits) {
    for (uint32_t i = first; from_ps < to_ps; i++) {
        bool last = i >= t->count || t->spans[i].end_ps >= to_ps;
        mem_ps until_ps = last ? to_ps : t->spans[i].end_ps;
        MemBusyWith with = i < t->count ? t->spans[i].with : MEM_BUSY_READ;

        waits->for_ps[with] += until_ps - from_ps;
        from_ps = until_ps;
    }
}

mem_ps mem_timeline_append(MemTimeline *t, mem_ps at_ps, const MemBusySpan *what, mem_ps span_ps, MemBusyWaits *waits) {
    mem_ps start_ps = mem_later(at_ps, mem_timeline_end(t));
    MemBusySpan span = *what;

    make_room(t);
    if (waits) {
        charge(t, first_after(t, at_ps), at_ps, start_ps, waits);
    }
    span.start_ps = start_ps;
    span.began_ps = start_ps;
    span.end_ps = start_ps + span_ps;
    insert_or_join(t, t->count, &span);
    return start_ps;
}

mem_ps mem_timeline_fit(MemTimeline *t, mem_ps at_ps, MemBusyWith with, mem_ps span_ps, MemBusyWaits *waits) {
    make_room(t);
    uint32_t first = first_after(t, at_ps);
    uint32_t at = first;
    mem_ps start_ps = mem_later(at_ps, t->settled_ps);

    while (at < t->count && t->spans[at].start_ps < start_ps + span_ps) {
        start_ps = mem_later(start_ps, t->spans[at].end_ps);
        at++;
    }
    charge(t, first, at_ps, start_ps, waits);
    MemBusySpan span = {start_ps, start_ps + span_ps, start_ps, MEM_BUSY_UNNAMED, with};
    insert_or_join(t, at, &span);
    return start_ps;
}

/* Move the spans from `at` on so that none starts before `clear_ps`. */
static void push_back(MemTimeline *t, uint32_t at, mem_ps clear_ps, const MemMoveListener *listener) {
    for (; at < t->count && t->spans[at].start_ps < clear_ps; at++) {
        MemBusySpan *span = &t->spans[at];
        MemProgramMove move = {.page = span->page, .old_end_ps = span->end_ps};
        bool begun = span->began_ps < span->start_ps;

        span->end_ps += clear_ps - span->start_ps;
        span->start_ps = clear_ps;
        span->began_ps = begun ? span->began_ps : clear_ps;
        clear_ps = span->end_ps;
        move.start_ps = span->began_ps;
        move.end_ps = span->end_ps;
        if (span->page != MEM_BUSY_UNNAMED && listener->moved) {
            listener->moved(listener->opaque, &move);
        }
    }
}

/* The place of a read that may overtake everything but reads: its index in `*at`, and its start. */
static mem_ps overtake(const MemTimeline *t, uint32_t *at, mem_ps start_ps) {
    uint32_t first = *at;

    for (*at = t->count; *at > first; (*at)--) {
        if (t->spans[*at - 1].with == MEM_BUSY_READ) {
            start_ps = mem_later(start_ps, t->spans[*at - 1].end_ps);
            break;
        }
    }
    while (*at < t->count && t->spans[*at].end_ps <= start_ps) {
        (*at)++;
    }
    return start_ps;
}

mem_ps mem_timeline_preempt(MemTimeline *t, mem_ps at_ps, mem_ps after_ps, mem_ps span_ps, mem_ps suspend_ps,
                            MemBusyWaits *waits, const MemMoveListener *listener) {
    make_room(t);
    uint32_t at = first_after(t, at_ps);
    uint32_t first = at;
    mem_ps start_ps = overtake(t, &at, mem_later(at_ps, mem_later(after_ps, t->settled_ps)));
    mem_ps own_ps = start_ps;

    charge(t, first, at_ps, start_ps, waits);
    if (at < t->count && t->spans[at].start_ps < start_ps) {
        MemBusySpan rest = t->spans[at];
        waits->for_ps[rest.with] += suspend_ps;
        own_ps += suspend_ps;
        t->spans[at].end_ps = start_ps;
        t->spans[at].page = MEM_BUSY_UNNAMED;
        rest.start_ps = start_ps;
        insert(t, ++at, &rest);
    }
    MemBusySpan span = {start_ps, own_ps + span_ps, start_ps, MEM_BUSY_UNNAMED, MEM_BUSY_READ};
    at = insert_or_join(t, at, &span);
    push_back(t, at, span.end_ps, listener);
    return own_ps;
}

mem_ps mem_timeline_program_end(const MemTimeline *t, uint64_t page, mem_ps at_ps) {
    for (uint32_t i = t->count; i > 0 && t->spans[i - 1].end_ps > at_ps; i--) {
        if (t->spans[i - 1].page == page) {
            return t->spans[i - 1].end_ps;
        }
    }
    return 0;
}

void mem_timeline_settle(MemTimeline *t, mem_ps until_ps) { t->settled_ps = mem_later(t->settled_ps, until_ps); }

const char *mem_timeline_check(const MemTimeline *t) {
    mem_ps end_ps = 0;

    for (uint32_t i = 0; i < t->count; i++) {
        const MemBusySpan *span = &t->spans[i];
        if (span->start_ps < end_ps || span->end_ps < span->start_ps || span->began_ps > span->start_ps) {
            return "a flash plane or channel does one thing at a time";
        }
        end_ps = span->end_ps;
    }
    return NULL;
}
