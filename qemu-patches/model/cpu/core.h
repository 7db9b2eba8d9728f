/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The operations that one CPU core has under way: loads, stores, prefetches,
 * write-backs. A MemCore decides when a request may leave and how long the core
 * waits; it does not know where requests go.
 *
 * The core goes on past a load that may be under way (a stream's), until it has
 * computed for `overlap_window_ps` beyond the load: then the reorder buffer is
 * full. Computing time is virtual time without stalls, so the core keeps the sum of
 * its stalls. The caller must let each returned stall pass.
 */
#ifndef MODEL_CORE_H
#define MODEL_CORE_H

#include "../base/counters.h"
#include "../base/slots.h"
#include "../config/cpu.h"
#include "in_flight.h"

/*
 * Successive calls of different cores may go back in time by this much; QEMU's quantum is far below. The model
 * remembers operations under way for as long, and no result depends on the value.
 */
#define MEM_CORES_APART_PS 10000000u
#define MEM_LOADS_UNDER_WAY 512u /* a power of two; one CPU that represents 26 cores has 26 x 16 reads under way */

typedef struct MemLoadUnderWay {
    mem_ps done_ps;
    mem_ps limit_ps; /* computing time at which the core must wait for the load */
} MemLoadUnderWay;

typedef struct MemPendingStore {
    uint64_t line;
    mem_ps commit_ps;
} MemPendingStore;

typedef struct MemCore {
    uint8_t number;
    mem_ps window_ps;
    mem_ps stalled_ps; /* sum of all stalls of the core so far */
    /* Loads under way, in program order: a ring. */
    MemLoadUnderWay loads[MEM_LOADS_UNDER_WAY];
    uint32_t first_load;
    uint32_t load_count;
    /* Stores that wait for their line, in program order: a ring of `store_room`. */
    MemPendingStore *stores;
    uint32_t store_room; /* 0: the core waits for the line of a store */
    uint32_t first_store;
    uint32_t store_count;
    bool store_waits; /* the store waits for its line and takes no place, because its instruction needs the value */
    mem_ps last_commit_ps;
    MemSlots fill_buffers;
    MemSlots wc_buffers; /* the buffers that are not open */
    MemSlots prefetch_buffers;
    MemSlots l2_requests;  /* each line that L2 lacks holds one, besides a fill or prefetch buffer */
    MemInFlight arrivals;  /* prefetched lines on their way */
    uint64_t far_unsent;   /* lines of devices among the arrivals that wait to be sent */
    mem_ps flushed_ps;     /* when the write that the latest flush sent, or found under way, is complete */
    mem_ps fence_until_ps; /* when the last write that a fence waits for is complete */
    mem_ps issued_ps;      /* when the latest operation was issued, after a wait for a buffer */
    mem_ps reached_ps;     /* time of the core before that wait; the core has passed no later time */
    MemCounters counters;
    MemCounters ignored; /* target of the counts outside the region of interest */
    MemCounters *count;  /* &counters or &ignored */
    /* Prefetches requested but not sent before the counters were reset; prefetches never sent because power failed. */
    uint64_t prefetches_before;
    uint64_t prefetches_lost;
} MemCore;

void mem_core_init(MemCore *c, const MemCpuConfig *config);
void mem_core_destroy(MemCore *c);
/* Nothing is under way any more. Counts and open WC buffers stay. */
void mem_core_clear(MemCore *c);

/* The caller's time of the core is `at_ps`; returns the time after the waits at the end of the window. */
mem_ps mem_core_catch_up(MemCore *c, mem_ps at_ps);
/* Account for a wait of the core from `at_ps` until `until_ps`. */
void mem_core_wait(MemCore *c, mem_ps at_ps, mem_ps until_ps);

/* A load is under way until `done_ps`; returns when the core can go on. */
mem_ps mem_core_load_under_way(MemCore *c, mem_ps at_ps, mem_ps done_ps);
/* When the store buffer can take a store. */
mem_ps mem_core_store_ready(MemCore *c, mem_ps at_ps);
/* Put a store into the buffer; its line is there at `line_ps`. Requires a store buffer. */
void mem_core_store_under_way(MemCore *c, uint64_t line, mem_ps line_ps);
/* When all stores to a line so far have committed; at least `at_ps`. */
mem_ps mem_core_committed(const MemCore *c, uint64_t line, mem_ps at_ps);

/* When a demand miss can leave, from `at_ps` on; then record that it left and its line is there at `done_ps`. */
mem_ps mem_core_demand_ready(const MemCore *c, mem_ps at_ps);
void mem_core_demand_sent(MemCore *c, mem_ps done_ps);
/* The same for a prefetch. */
mem_ps mem_core_prefetch_ready(const MemCore *c, mem_ps at_ps);
void mem_core_prefetch_sent(MemCore *c, mem_ps done_ps);

/* When all loads, or all stores, so far are done; at least `at_ps`. */
mem_ps mem_core_loads_done(const MemCore *c, mem_ps at_ps);
mem_ps mem_core_stores_done(const MemCore *c, mem_ps at_ps);
/* When both are done, and every buffer for which a miss could wait is free. */
mem_ps mem_core_all_done(const MemCore *c, mem_ps at_ps);

#endif
