/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The log of an epoch as `redo` and `epoch` write it: of each thread's list of lines the new content, one list after
 * another. Where each begins is known before any is written, so that threads can write them side by side. Each block
 * says how many lines all lists have together, so that of lists of which one is missing none counts.
 */
#ifndef SNAPSHOT_LISTS_H
#define SNAPSHOT_LISTS_H

#include "log/thread_log.h"

/* What a log writes: lines of held logs are in one list together, which the first held log writes. */
const struct vector *list_of(const struct thread_log *thread);

/* Where each list goes; the first starts the set. `lines`: how many all have together. The number of chunks. */
uint64_t lists_assign(struct region *region, uint64_t lines);

void list_write(struct thread_log *thread, uint32_t sets);

#endif
