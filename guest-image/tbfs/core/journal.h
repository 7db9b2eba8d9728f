/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* The journal: a circle of lines, each with the content of up to 48 bytes, the old or the new one by the metadata's
 * policy. One transaction at a time is open. */
#ifndef TBFS_JOURNAL_H
#define TBFS_JOURNAL_H

#include "tbfs.h"

uint32_t journal_capacity(uint64_t journal_bytes);
void journal_make(struct tbfs *fs); /* durable after the caller's fence */

/* Undoes what was not committed, and stores again what was. -EUCLEAN: entries that this code never writes; nothing has
 * been changed then. */
int journal_recover(struct tbfs *fs);

/* Of metadata policy `undo`: with the old content, and a commit after the changes. */
void journal_begin(struct tbfs *fs, uint32_t entries);
void journal_log(struct tbfs *fs, const void *target, size_t bytes);
void journal_commit(struct tbfs *fs);

/* Of `log`: with the new content, and a commit before the changes. */
void journal_redo_begin(struct tbfs *fs, uint32_t entries);
void journal_redo_log(struct tbfs *fs, const struct tbfs_piece *piece);
void journal_redo_commit(struct tbfs *fs);

/* Whether recovery would store something here. */
bool journal_has(const struct tbfs *fs, uint64_t offset, uint64_t bytes);

/*
 * After this recovery stores nothing here. It comes before each release of a block, and before each store that belongs
 * to no transaction. So storing the last transaction again changes nothing, and reaches no block that is free.
 */
bool journal_yield(struct tbfs *fs, uint64_t offset, uint64_t bytes); /* false: a rule is broken; do not store */

/* Whether an entry may name this place: inodes, the head of the truncate list, or blocks. */
bool journal_may_hold(const struct tbfs *fs, uint64_t offset, uint64_t bytes);

/* The journal's own bounds, before so many entries are logged. */
void journal_check(struct tbfs *fs, uint32_t entries);

#endif
