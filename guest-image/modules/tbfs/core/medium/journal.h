/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* The journal: a ring of lines, each with up to 48 bytes of content, old or new by the metadata policy. One transaction
 * is open at a time. */
#ifndef TBFS_JOURNAL_H
#define TBFS_JOURNAL_H

#include "../tbfs.h"

uint32_t journal_capacity(uint64_t journal_bytes);
void journal_make(struct tbfs *fs); /* durable after the caller's fence */

/* Undoes an uncommitted transaction, or stores a committed one again. -EUCLEAN: the journal contains entries that this
 * code never writes, and nothing has been changed. */
int journal_recover(struct tbfs *fs);

/* Metadata policy `undo`: entries with the old content, and a commit after the changes. */
void journal_begin(struct tbfs *fs, uint32_t entries);
void journal_log(struct tbfs *fs, const void *target, size_t bytes);
void journal_commit(struct tbfs *fs);

/* Metadata policy `log`: entries with the new content, and a commit before the changes. */
void journal_redo_begin(struct tbfs *fs, uint32_t entries);
void journal_redo_log(struct tbfs *fs, const struct tbfs_piece *piece);
void journal_redo_commit(struct tbfs *fs);

/* Whether recovery would store into this range. */
bool journal_has(const struct tbfs *fs, uint64_t offset, uint64_t bytes);

/*
 * After this call recovery stores nothing into the range. The call precedes each release of a block, and each store
 * outside of transactions. So at any time recovery could store the last transaction again without changing a byte, and
 * without reaching a free block.
 */
bool journal_yield(struct tbfs *fs, uint64_t offset, uint64_t bytes); /* false: an invariant is broken; do not store */

/* Whether an entry may target this range: inodes, the head of the truncate list, or blocks. */
bool journal_may_hold(const struct tbfs *fs, uint64_t offset, uint64_t bytes);

/* Checks the journal's invariants before this many entries are written. */
void journal_check(struct tbfs *fs, uint32_t entries);

#endif
