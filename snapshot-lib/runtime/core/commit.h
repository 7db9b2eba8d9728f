/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SNAPSHOT_COMMIT_H
#define SNAPSHOT_COMMIT_H

#include "base/region.h"

int region_commit(struct region *region, enum commit_mode mode);
bool region_has_changes(struct region *region);
int region_rollback(struct region *region);

/* region_enter() takes the mutex and stops announcements; region_leave() undoes both. The next four are called
 * between these two; the `_locked` ones do the same as those without the suffix. */
void region_enter(struct region *region);
void region_leave(struct region *region);
int region_commit_locked(struct region *region, enum commit_mode mode);
int region_commit_uncarried(struct region *region, enum commit_mode mode);
void region_carry(struct region *region);
int region_retire_locked(struct region *region);

/* Write all committed content to the file, for readers that do not use the working copy. Returns 0 or -EUCLEAN. */
int region_publish(struct region *region);

/*
 * Write all committed content to the file and make the log assert nothing about it: the file can then be cut, renamed,
 * closed or copied without its log. Uncommitted changes are rolled back. Commits may follow. Returns 0, or -EUCLEAN:
 * the log is damaged, and log and file stay as a crash would leave them.
 */
int region_detach(struct region *region);

#endif
