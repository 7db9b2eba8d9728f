/* SPDX-License-Identifier: BSD-3-Clause */
/* The detector of writes that escaped tracking. */
#ifndef SNAPSHOT_CHECK_H
#define SNAPSHOT_CHECK_H

#include "base/region.h"

bool check_is_wanted(void);
void check_announce(struct region *region, uint64_t offset, uint64_t bytes);
void check_commit(struct region *region);
void check_committed(struct region *region);
void check_discard(struct region *region, const char *why);

#endif
