/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocks of an epoch's log. */
#ifndef SNAPSHOT_BLOCKS_H
#define SNAPSHOT_BLOCKS_H

#include "log/thread_log.h"

void block_seal(struct block *block, uint64_t epoch, uint32_t sequence);
void block_write(uint8_t *place, const struct block *block);

/* Stream the thread's full block to the log file, and fence it if another thread may be the one that commits. */
void thread_block_end(struct thread_log *thread);

/* Write all logged blocks that are not in the log file yet. Return 0, or -ENOSPC: the call may be repeated. */
int thread_logs_write(struct region *region);
void thread_logs_forget(struct region *region);

/* Visit every valid block of an epoch, in any order (log_walk_chunk: of one chunk). Return the number of their
 * lines. */
typedef void block_visitor(void *context, const struct block *block);
uint64_t log_walk_chunk(struct log_view log, uint64_t offset, uint64_t epoch, block_visitor *visit, void *context);
uint64_t log_walk(struct log_view log, uint32_t sets, uint64_t epoch, block_visitor *visit, void *context);

#endif
