/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_queue.h"

#include <assert.h>
#include <stdlib.h>

#include "../base/mem_alloc.h"

void mem_events_init(MemEventQueue *q) {
    *q = (MemEventQueue){.room = 64};
    q->heap = mem_calloc(q->room, sizeof(*q->heap));
}

void mem_events_destroy(MemEventQueue *q) { free(q->heap); }

static bool before(const MemEvent *a, const MemEvent *b) {
    if (a->at_ps != b->at_ps) {
        return a->at_ps < b->at_ps;
    }
    return a->rank != b->rank ? a->rank < b->rank : a->order < b->order;
}

uint64_t mem_events_add(MemEventQueue *q, mem_ps at_ps, uint64_t rank, uint32_t item) {
    MemEvent event = {.at_ps = at_ps, .rank = rank, .order = q->added++, .item = item};

    if (q->count == q->room) {
        q->room *= 2;
        q->heap = mem_regrow(q->heap, q->room, sizeof(*q->heap));
    }
    size_t hole = q->count++;
    while (hole > 0 && before(&event, &q->heap[(hole - 1) / 2])) {
        q->heap[hole] = q->heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    q->heap[hole] = event;
    return event.order;
}

MemEvent mem_events_pop(MemEventQueue *q) {
    assert(q->count > 0);
    MemEvent first = q->heap[0];
    MemEvent last = q->heap[--q->count];
    size_t hole = 0;

    for (;;) {
        size_t child = 2 * hole + 1;
        if (child + 1 < q->count && before(&q->heap[child + 1], &q->heap[child])) {
            child++;
        }
        if (child >= q->count || !before(&q->heap[child], &last)) {
            break;
        }
        q->heap[hole] = q->heap[child];
        hole = child;
    }
    q->heap[hole] = last;
    return first;
}
