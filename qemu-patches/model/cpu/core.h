/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one CPU core has under way: loads, stores, prefetches, write-backs. It
 * decides when a request may leave and how long the core waits; it does not
 * know where requests go.
 *
 * The core goes on past a load that may be under way (a stream's), until it has
 * computed for `overlap_window_ps` beyond it: the reorder buffer is full then.
 * Computing is what is left of virtual time when stalls are taken out, so the
 * core keeps the sum of its stalls; a stall that it returns must be passed.
 */
#ifndef MODEL_CORE_H
#define MODEL_CORE_H

#include "../base/counters.h"
#include "../base/slots.h"
#include "../config/cpu.h"
#include "in_flight.h"

/* Successive calls of different cores may go back by so much: QEMU's quantum is far below. What is remembered of what
 * is under way is remembered for so long, and no result depends on how long that is. */
#define MEM_CORES_APART_PS 10000000u
#define MEM_LOADS_UNDER_WAY 512u /* a power of two; one CPU in the place of 26 cores has 26 x 16 reads under way */

typedef struct MemLoadUnderWay {
    mem_ps done_ps;
    mem_ps limit_ps; /* the computing time at which the core must wait for it */
} MemLoadUnderWay;

typedef struct MemPendingStore {
    uint64_t line;
    mem_ps commit_ps;
} MemPendingStore;

typedef struct MemCore {
    uint8_t number;
    mem_ps window_ps;
    mem_ps stalled_ps; /* all that the core has waited so far */
    /* Loads under way, in program order: a ring. */
    MemLoadUnderWay loads[MEM_LOADS_UNDER_WAY];
    uint32_t first_load;
    uint32_t load_count;
    /* Stores that wait for their line, in program order: a ring of `store_room`. */
    MemPendingStore *stores;
    uint32_t store_room; /* 0: a store waits for its line */
    uint32_t first_store;
    uint32_t store_count;
    bool store_waits; /* for its line, and takes no place: its instruction needs the value */
    mem_ps last_commit_ps;
    MemSlots fill_buffers;
    MemSlots wc_buffers; /* those that are not open */
    MemSlots prefetch_buffers;
    MemSlots l2_requests;  /* a line that L2 does not have holds one, whoever asks, besides a buffer of those */
    MemInFlight arrivals;  /* prefetched lines on their way */
    uint64_t far_unsent;   /* of those that wait to be sent: lines of devices */
    mem_ps flushed_ps;     /* when what the latest flush sent, or found under way, is complete */
    mem_ps fence_until_ps; /* when the last write that a fence waits for is complete */
    mem_ps issued_ps;      /* when the latest operation was issued: it may have to wait for a buffer */
    mem_ps reached_ps;     /* where the core was then; it has passed nothing later */
    MemCounters counters;
    MemCounters ignored; /* where the counts outside the region of interest go */
    MemCounters *count;  /* one of the two */
    /* Of the prefetches: asked for before the counters were reset and not sent then; never sent, since power failed. */
    uint64_t prefetches_before;
    uint64_t prefetches_lost;
} MemCore;

void mem_core_init(MemCore *c, const MemCpuConfig *config);
void mem_core_destroy(MemCore *c);
/* Nothing is under way any more; what was counted stays. */
void mem_core_clear(MemCore *c);

/* The core is at `at_ps` by what it knows: when it really is, after it has waited at the end of its window. */
mem_ps mem_core_catch_up(MemCore *c, mem_ps at_ps);
/* The core waits from `at_ps` until then. */
void mem_core_wait(MemCore *c, mem_ps at_ps, mem_ps until_ps);

/* A load is under way until `done_ps`; when the core can go on. */
mem_ps mem_core_load_under_way(MemCore *c, mem_ps at_ps, mem_ps done_ps);
/* When the store buffer can take a store. */
mem_ps mem_core_store_ready(MemCore *c, mem_ps at_ps);
/* It takes one, whose line is there at `line_ps`. Not without a store buffer. */
void mem_core_store_under_way(MemCore *c, uint64_t line, mem_ps line_ps);
/* When the stores to a line so far have been committed; at least `at_ps`. */
mem_ps mem_core_committed(const MemCore *c, uint64_t line, mem_ps at_ps);

/* When a miss can leave that somebody waits for, from `at_ps` on; and it leaves then, its line there at `done_ps`. */
mem_ps mem_core_demand_ready(const MemCore *c, mem_ps at_ps);
void mem_core_demand_sent(MemCore *c, mem_ps done_ps);
/* The same of a prefetch. */
mem_ps mem_core_prefetch_ready(const MemCore *c, mem_ps at_ps);
void mem_core_prefetch_sent(MemCore *c, mem_ps done_ps);

/* When the loads, and the stores, so far are done; at least `at_ps`. */
mem_ps mem_core_loads_done(const MemCore *c, mem_ps at_ps);
mem_ps mem_core_stores_done(const MemCore *c, mem_ps at_ps);
/* When both are, and all that a miss could have to wait for is free. */
mem_ps mem_core_all_done(const MemCore *c, mem_ps at_ps);

#endif
