/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SNAPSHOT_THREAD_LOG_H
#define SNAPSHOT_THREAD_LOG_H

#include "base/region.h"
#include "format.h"

/* What one thread has done to one region in this epoch. The region owns it; a thread that ends hands it on. */
struct thread_log {
    struct block block; /* being filled */
    struct region *region;
    struct thread_log *next;
    atomic_bool in_use;
    struct vector changes; /* what was logged, in order; what an item is depends on the protocol */
    uint64_t change_count; /* also of those that a protocol does not list */
    uint32_t block_words;  /* undo: used of the block's content */
    uint8_t *chunk;        /* where the next block goes; NULL: needs a chunk */
    uint8_t *chunk_end;
    uint32_t sequence;
    struct vector waiting; /* blocks for which there was no space in the log */
    uint64_t log_bytes;    /* written to the log file */
    uint64_t fences;
};

/* threads.c */
struct thread_log *thread_log_get(struct region *region);
void thread_logs_free(struct region *region);

#define for_each_thread(thread, region)                                                                                \
    for (struct thread_log *thread = atomic_load(&(region)->threads); thread; thread = thread->next)

#endif
