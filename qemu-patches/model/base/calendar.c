/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "calendar.h"

#include <string.h>

/* An empty span represents "nothing reserved", so that a latest span always exists. */
void mem_calendar_clear(MemCalendar *c) {
    c->floor_ps = 0;
    c->first = 0;
    c->last = 0;
    c->spans[0] = (MemSpan){0};
}

/* Make room for one span behind the latest; a full calendar forgets its earliest span and the gaps before it. */
static void make_room(MemCalendar *c) {
    if (c->last - c->first + 1 == MEM_CALENDAR_SPANS) {
        c->floor_ps = c->spans[c->first].end_ps;
        c->first++;
    }
    if (c->last + 1 == 2 * MEM_CALENDAR_SPANS) {
        memmove(c->spans, c->spans + c->first, (c->last - c->first + 1) * sizeof(*c->spans));
        c->last -= c->first;
        c->first = 0;
    }
}

void mem_calendar_append(MemCalendar *c, mem_ps start_ps, mem_ps end_ps) {
    make_room(c);
    c->spans[++c->last] = (MemSpan){.start_ps = start_ps, .end_ps = end_ps};
}

/* Find the first gap of `span_ps` from `*start_ps` on; moves `*start_ps` there, returns the index of the next span. */
static uint32_t find_gap(const MemCalendar *c, mem_ps *start_ps, mem_ps span_ps) {
    uint32_t i = c->last + 1;

    *start_ps = mem_later(*start_ps, c->floor_ps);
    while (i > c->first && c->spans[i - 1].end_ps > *start_ps) {
        i--;
    }
    while (i <= c->last && c->spans[i].start_ps < *start_ps + span_ps) {
        *start_ps = mem_later(*start_ps, c->spans[i].end_ps);
        i++;
    }
    return i;
}

mem_ps mem_calendar_probe(const MemCalendar *c, mem_ps at_ps, mem_ps span_ps) {
    if (span_ps) {
        find_gap(c, &at_ps, span_ps);
    }
    return at_ps;
}

/* Insert a span before span number `i`, merged with the neighbours that it touches. */
static void put_before(MemCalendar *c, uint32_t i, MemSpan span) {
    bool joins_earlier = i > c->first && c->spans[i - 1].end_ps == span.start_ps;
    bool joins_later = i <= c->last && c->spans[i].start_ps == span.end_ps;

    if (joins_earlier && joins_later) {
        c->spans[i - 1].end_ps = c->spans[i].end_ps;
        memmove(c->spans + i, c->spans + i + 1, (c->last - i) * sizeof(*c->spans));
        c->last--;
    } else if (joins_earlier) {
        c->spans[i - 1].end_ps = span.end_ps;
    } else if (joins_later) {
        c->spans[i].start_ps = span.start_ps;
    } else if (i == c->first && c->last - c->first + 1 == MEM_CALENDAR_SPANS) {
        c->floor_ps = span.end_ps; /* the calendar is full and the new span the earliest: forget it */
    } else {
        uint32_t behind = c->last + 1 - i; /* make_room() renumbers the spans */
        make_room(c);
        memmove(c->spans + c->last + 2 - behind, c->spans + c->last + 1 - behind, behind * sizeof(*c->spans));
        c->spans[++c->last - behind] = span;
    }
}

mem_ps mem_calendar_insert(MemCalendar *c, mem_ps at_ps, mem_ps span_ps) {
    uint32_t i = find_gap(c, &at_ps, span_ps);
    put_before(c, i, (MemSpan){.start_ps = at_ps, .end_ps = at_ps + span_ps});
    return at_ps;
}
