/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The log of an epoch in the protocols `redo` and `epoch`: the new content of the lines on each thread's list, one list
 * after another. The start of each list is computed before any list is written, so that threads can write their lists
 * in parallel. Each block states how many lines all lists have together; if any list is missing, recovery counts none
 * of them.
 */
#ifndef SNAPSHOT_LISTS_H
#define SNAPSHOT_LISTS_H

#include "log/thread_log.h"

/* The lines that a log writes. The lines of all held logs form one list, which the first held log writes. */
const struct vector *list_of(const struct thread_log *thread);

/* Assign each list its place in the log; the first list begins at the start of the epoch's set of chunks. `lines` is
 * the number of lines in all lists. Return the number of chunks. */
uint64_t lists_assign(struct region *region, uint64_t lines);

void list_write(struct thread_log *thread, uint32_t sets);

#endif
