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
MemRead mem_memory_read_line(MemMemory *m, uint64_t line, mem_ps at_ps, bool demand);
/* Send a line to where it lives, `way_ps` behind what sends it. */
MemWriteTimes mem_memory_write_line(MemMemory *m, const MemOperation *op, mem_ps at_ps, mem_ps way_ps);
/* One that the core sends: it passes the LLC as a load does, and the next fence waits for it. */
MemWriteTimes mem_memory_write_ordered(MemMemory *m, const MemOperation *op, mem_ps at_ps);

/* ---- prefetch_queue.c ---- */

void mem_memory_prefetch(MemMemory *m, uint64_t line, mem_ps at_ps);
/* One that waits goes out now. */
void mem_memory_send_prefetch(MemMemory *m, MemInFlightLine *wanted, mem_ps at_ps);
/* It went out, by whatever way. */
void mem_memory_prefetch_sent(MemMemory *m, MemInFlightLine *wanted, mem_ps at_ps, mem_ps arrives_ps);
void mem_memory_send_due_prefetches(MemMemory *m, mem_ps now_ps);
/* The end of the region of interest: no buffer is waited for any more. */
void mem_memory_send_all_prefetches(MemMemory *m, mem_ps at_ps);

/* ---- fill_buffers.c ---- */

/* Of a line that nobody asked for yet: besides, it is a request of the L2. */
MemRead mem_memory_demand(MemMemory *m, uint64_t line, mem_ps at_ps, bool load);
/* When a prefetched line is there, and in L1. One that still waits to be sent goes out now, as a demand. */
mem_ps mem_memory_arrival(MemMemory *m, uint64_t line, mem_ps at_ps);

#endif
