/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "in_flight.h"

#include <stdlib.h>
#include <string.h>

#include "../base/mem_alloc.h"
#include "../base/mem_hash.h"

#define FIRST_ROOM 256u
#define NO_ENTRY UINT32_MAX

/* A ring of n entries has n buckets; an entry's place in the ring is its number modulo n. */
static uint32_t *bucket_of(const MemInFlight *f, uint64_t line) {
    return &f->buckets[mem_hash(line, 32) & (f->room - 1)];
}

static MemInFlightLine *entry(const MemInFlight *f, uint64_t number) { return &f->lines[number & (f->room - 1)]; }

void mem_in_flight_init(MemInFlight *f) {
    *f = (MemInFlight){.room = FIRST_ROOM};
    f->lines = mem_calloc(f->room, sizeof(*f->lines));
    f->buckets = mem_calloc(f->room, sizeof(*f->buckets));
    mem_in_flight_clear(f);
}

void mem_in_flight_destroy(MemInFlight *f) {
    free(f->lines);
    free(f->buckets);
}

void mem_in_flight_clear(MemInFlight *f) {
    f->first = f->end = f->next_unsent = f->unsent_count = 0;
    memset(f->buckets, 0xff, f->room * sizeof(*f->buckets)); /* NO_ENTRY */
}

static void link_entry(MemInFlight *f, uint64_t number) {
    uint32_t *bucket = bucket_of(f, entry(f, number)->line);
    entry(f, number)->older = *bucket;
    *bucket = (uint32_t)number & (f->room - 1);
}

/* The first entry is the oldest of its bucket, so it is the last of the chain. */
static void unlink_first(MemInFlight *f) {
    uint32_t place = (uint32_t)f->first & (f->room - 1);
    uint32_t *link = bucket_of(f, entry(f, f->first)->line);
    while (*link != place) {
        link = &f->lines[*link].older;
    }
    *link = NO_ENTRY;
    f->first++;
}

static void grow(MemInFlight *f) {
    MemInFlight bigger = *f;

    bigger.room = f->room * 2;
    bigger.lines = mem_calloc(bigger.room, sizeof(*bigger.lines));
    bigger.buckets = mem_regrow(f->buckets, bigger.room, sizeof(*bigger.buckets));
    memset(bigger.buckets, 0xff, bigger.room * sizeof(*bigger.buckets));
    for (uint64_t n = f->first; n < f->end; n++) {
        *entry(&bigger, n) = *entry(f, n);
        link_entry(&bigger, n);
    }
    free(f->lines);
    *f = bigger;
}

MemInFlightLine *mem_in_flight_add(MemInFlight *f, uint64_t line, mem_ps asked_ps, mem_ps arrives_ps, mem_ps now_ps) {
    while (f->first < f->end && entry(f, f->first)->arrives_ps <= now_ps) {
        unlink_first(f);
    }
    if (f->end - f->first == f->room) {
        grow(f);
    }
    *entry(f, f->end) = (MemInFlightLine){.line = line, .arrives_ps = arrives_ps, .asked_ps = asked_ps};
    link_entry(f, f->end);
    f->unsent_count += arrives_ps == MEM_NOT_SENT;
    return entry(f, f->end++);
}

MemInFlightLine *mem_in_flight_find(const MemInFlight *f, uint64_t line) {
    uint32_t place = f->end > f->first ? *bucket_of(f, line) : NO_ENTRY;
    while (place != NO_ENTRY && f->lines[place].line != line) {
        place = f->lines[place].older;
    }
    return place == NO_ENTRY ? NULL : &f->lines[place];
}

MemInFlightLine *mem_in_flight_unsent(MemInFlight *f) {
    if (!f->unsent_count) {
        return NULL;
    }
    if (f->next_unsent < f->first) {
        f->next_unsent = f->first;
    }
    while (entry(f, f->next_unsent)->arrives_ps != MEM_NOT_SENT) {
        f->next_unsent++;
    }
    return entry(f, f->next_unsent);
}

void mem_in_flight_sent(MemInFlight *f, MemInFlightLine *line, mem_ps sent_ps, mem_ps arrives_ps) {
    line->asked_ps = sent_ps;
    line->arrives_ps = arrives_ps;
    f->unsent_count--;
}

uint64_t mem_in_flight_count(const MemInFlight *f, uint8_t core, mem_ps at_ps) {
    uint64_t count = 0;

    for (uint64_t n = f->first; n < f->end; n++) {
        const MemInFlightLine *line = entry(f, n);
        count += line->arrives_ps != MEM_NOT_SENT && line->core == core && line->asked_ps <= at_ps &&
                 line->arrives_ps > at_ps;
    }
    return count;
}
