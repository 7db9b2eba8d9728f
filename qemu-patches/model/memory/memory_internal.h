/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that the files of this folder share, lowest file first: a file calls only files before it. */
#ifndef MODEL_MEMORY_INTERNAL_H
#define MODEL_MEMORY_INTERNAL_H

#include "memory.h"

/* ---- under_way.c: with several cores ---- */

/* No core calls with an earlier time, so requests that end by then are over for all cores. */
mem_ps mem_memory_over_by(const MemMemory *m);
/* Record a request for a line, since other cores may ask for the line before it arrives. */
void mem_memory_note_under_way(MemMemory *m, const MemCore *c, uint64_t line, mem_ps sent_ps, mem_ps arrives_ps);
/* When a line that any core requested arrives; at least `at_ps`. */
mem_ps mem_memory_sent_arrives(const MemMemory *m, uint64_t line, mem_ps at_ps);
/* When a line has arrived at the other core that stored to it and now loses it; at least `at_ps`. */
mem_ps mem_memory_other_has(const MemMemory *m, const MemCore *c, uint64_t line, mem_ps at_ps);
/* The core that still waits to send a prefetch of the line, with that prefetch in `*wanted`; or NULL. */
MemCore *mem_memory_waits_to_send(const MemMemory *m, uint64_t line, MemInFlightLine **wanted);

/* ---- line_requests.c ---- */

typedef struct MemRead {
    mem_ps done_ps;
    uint64_t *stall_counter; /* the counter to which a wait for this line is added */
} MemRead;

/* Read a line for a request that leaves the core at `at_ps`. */
MemRead mem_memory_read_line(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps, bool demand);
/* Send a line, at `at_ps`, to local DRAM or the device that holds it, `way_ps` away from the sender. */
MemWriteTimes mem_memory_write_line(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps, mem_ps way_ps);
/* The same for a write that the core sends: it passes the LLC as a load does, and the next fence waits for it. */
MemWriteTimes mem_memory_write_ordered(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps);

/* ---- prefetch_queue.c ---- */

void mem_memory_prefetch(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps);
/* The prefetch has been sent, as a prefetch or as a demand. */
void mem_memory_prefetch_sent(MemCore *c, MemInFlightLine *wanted, mem_ps at_ps, mem_ps arrives_ps);
void mem_memory_send_due_prefetches(MemMemory *m, MemCore *c, mem_ps now_ps);
/* At the end of the region of interest: send the remaining prefetches without waiting for buffers. */
void mem_memory_send_all_prefetches(MemMemory *m, MemCore *c, mem_ps at_ps);

/* ---- fill_buffers.c ---- */

/* Read a line for which no request was sent. The request takes one of the L2's requests besides a fill buffer. */
MemRead mem_memory_demand(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps, bool load);
/*
 * Returns when a line that was prefetched, or that another core asked for, is in L1. A prefetch that still waits to be
 * sent is sent now, as a demand.
 */
mem_ps mem_memory_arrival(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps);
/* Returns when another core has supplied or given up the line: `span_ps` after the line was there and was asked for. */
mem_ps mem_memory_from_others(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps, mem_ps span_ps);

#endif
