/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Future events of items, ordered by time, then rank, then the order in which they were added. */
#ifndef MODEL_EVENT_QUEUE_H
#define MODEL_EVENT_QUEUE_H

#include "../base/units.h"

#define MEM_NEVER UINT64_MAX

typedef struct MemEvent {
    mem_ps at_ps;
    uint64_t rank;
    uint64_t order;
    uint32_t item;
} MemEvent;

typedef struct MemEventQueue {
    MemEvent *heap;
    size_t count;
    size_t room;
    uint64_t added;
} MemEventQueue;

void mem_events_init(MemEventQueue *q);
void mem_events_destroy(MemEventQueue *q);
/* Returns the event's `order`, which is unique. */
uint64_t mem_events_add(MemEventQueue *q, mem_ps at_ps, uint64_t rank, uint32_t item);
/* The queue must not be empty. */
MemEvent mem_events_pop(MemEventQueue *q);

static inline mem_ps mem_events_next_ps(const MemEventQueue *q) { return q->count ? q->heap[0].at_ps : MEM_NEVER; }

#endif
