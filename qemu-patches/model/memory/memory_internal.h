/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this folder share; see memory.h. */
#ifndef MODEL_MEMORY_INTERNAL_H
#define MODEL_MEMORY_INTERNAL_H

#include "memory.h"

/* ---- line_requests.c ---- */

typedef struct MemRead {
    mem_ps done_ps;
    uint64_t *stall_counter; /* what a wait for it counts as */
} MemRead;

/* Read a line for a request that leaves the core at `at_ps`. */
MemRead mem_memory_read_line(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps, bool demand);
/* Send a line to where it lives, `way_ps` behind what sends it. */
MemWriteTimes mem_memory_write_line(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps, mem_ps way_ps);
/* One that the core sends: it passes the LLC as a load does, and the next fence waits for it. */
MemWriteTimes mem_memory_write_ordered(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps);

/* ---- operations.c ---- */

void mem_memory_send_wc_buffer(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps);

/* ---- prefetch_queue.c ---- */

void mem_memory_prefetch(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps);
/* One that waits goes out now. */
void mem_memory_send_prefetch(MemMemory *m, MemCore *c, MemInFlightLine *wanted, mem_ps at_ps);
/* It went out, by whatever way. */
void mem_memory_prefetch_sent(MemCore *c, MemInFlightLine *wanted, mem_ps at_ps, mem_ps arrives_ps);
void mem_memory_send_due_prefetches(MemMemory *m, MemCore *c, mem_ps now_ps);
/* The end of the region of interest: no buffer is waited for any more. */
void mem_memory_send_all_prefetches(MemMemory *m, MemCore *c, mem_ps at_ps);

/* ---- fill_buffers.c ---- */

/* Of a line that nobody asked for yet: besides, it is a request of the L2. */
MemRead mem_memory_demand(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps, bool load);
/* When a prefetched line is there, and in L1. One that still waits to be sent goes out now, as a demand. */
mem_ps mem_memory_arrival(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps);

/* ---- coherence.c ---- */

/* A line was asked for: others may want it before it is there. */
void mem_memory_note_under_way(MemMemory *m, const MemCore *c, uint64_t line, mem_ps sent_ps, mem_ps arrives_ps);
/* When a line that another core asked for is there. One that waits to be sent goes out now, as a demand of this one. */
mem_ps mem_memory_join(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps);
/* When another core has given the line, or has given it up: `span_ps` after it could. */
mem_ps mem_memory_from_others(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps, mem_ps span_ps);
/* When another core that stored to a line, and is to give it up, has it; at least `at_ps`. */
mem_ps mem_memory_other_has(const MemMemory *m, const MemCore *c, uint64_t line, mem_ps at_ps);
/* What is over by then is over for all of several cores. */
mem_ps mem_memory_over_by(const MemMemory *m);

#endif
