/* SPDX-License-Identifier: BSD-3-Clause */
/* Which trackers there are, and what one of pages does. */
#ifndef SNAPSHOT_TRACKERS_H
#define SNAPSHOT_TRACKERS_H

#include "base/region.h"

struct tracker {
    const char *name;
    unsigned flag; /* of snapshot_map() */

    /* 0, or -errno and a line on stderr: this kernel or process cannot have it. NULL: every one can. */
    int (*open)(struct region *region, const char *path);
    void (*close)(struct region *region);
    int (*watch)(struct region *region, uint64_t offset, uint64_t bytes);
    int (*collect)(struct region *region);
    void (*admit)(struct region *region, uint64_t offset, uint64_t bytes); /* NULL: system calls may write anyway */
    void (*inherit)(struct region *region);
};

extern const struct tracker tracker_uffd, tracker_mprotect;

/* What a tracker found: as if the program had announced it. */
void pages_changed(struct region *region, uint64_t offset, uint64_t bytes);

#endif
