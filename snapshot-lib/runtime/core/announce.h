/* SPDX-License-Identifier: BSD-3-Clause */
/* Announce a range that the program is about to store to, or to which a tracker has found a store. */
#ifndef SNAPSHOT_ANNOUNCE_H
#define SNAPSHOT_ANNOUNCE_H

#include "backing.h"
#include "check.h"
#include "log/thread_log.h"

/* The range lies within the file. No commit collects, or the caller is the commit that collects. */
static inline void announce(struct thread_log *thread, uint64_t offset, uint64_t bytes) {
    struct region *region = thread->region;
    pages_want(region, offset, bytes);
    if (region->shadow)
        check_announce(region, offset, bytes);
    region->protocol->log_range(thread, offset, bytes);
}

#endif
