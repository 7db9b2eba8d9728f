/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SNAPSHOT_COMMIT_H
#define SNAPSHOT_COMMIT_H

#include "base/region.h"

int region_commit(struct region *region, enum commit_mode mode);
bool region_has_changes(struct region *region);
int region_rollback(struct region *region);

/* Before and after all that takes the mutex; with it, the same as without the suffix. */
void region_enter(struct region *region);
void region_leave(struct region *region);
int region_commit_locked(struct region *region, enum commit_mode mode);
int region_commit_uncarried(struct region *region, enum commit_mode mode);
void region_carry(struct region *region);
int region_retire_locked(struct region *region);

/* For those who read the file by other ways than the working copy: it gets all that is committed. 0 or -EUCLEAN. */
int region_publish(struct region *region);

/*
 * Make the log assert nothing about the file, which gets all that is committed: it can then be cut, renamed, closed or
 * copied without its log. What is not committed is rolled back. Commits may follow. 0, or -EUCLEAN: the log is damaged,
 * and log and file are left as a crash would leave them.
 */
int region_detach(struct region *region);

#endif
