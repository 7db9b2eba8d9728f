/* SPDX-License-Identifier: BSD-3-Clause */
/* What is about to be stored, or was, by whoever knows it: the program or a tracker. */
#ifndef SNAPSHOT_ANNOUNCE_H
#define SNAPSHOT_ANNOUNCE_H

#include "backing.h"
#include "check.h"

/* The range lies in the file. */
static inline void announce(struct region *region, uint64_t offset, uint64_t bytes) {
    pages_want(region, offset, bytes);
    if (region->shadow)
        check_announce(region, offset, bytes);
    region->protocol->log_range(region, offset, bytes);
}

#endif
