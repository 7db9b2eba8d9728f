/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* The undo journal: a circle of lines, each with the old content of up to 48 bytes. One transaction at a time is open.
 */
#ifndef TBFS_JOURNAL_H
#define TBFS_JOURNAL_H

#include "tbfs.h"

uint32_t journal_capacity(uint64_t journal_bytes);
void journal_make(struct tbfs *fs);

/* Undoes what was not committed. -EUCLEAN: entries that this code never writes; nothing has been undone then. */
int journal_recover(struct tbfs *fs);

void journal_begin(struct tbfs *fs, uint32_t entries);
void journal_log(struct tbfs *fs, const void *target, size_t bytes);
void journal_commit(struct tbfs *fs);

#endif
