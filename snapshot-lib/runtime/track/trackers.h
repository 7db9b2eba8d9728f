/* SPDX-License-Identifier: BSD-3-Clause */
/* The trackers, and the interface of a tracker of pages. */
#ifndef SNAPSHOT_TRACKERS_H
#define SNAPSHOT_TRACKERS_H

#include "base/region.h"

struct tracker {
    const char *name;
    unsigned flag; /* flag of snapshot_map() */

    /* 0, or -errno and a line on stderr if this kernel or process does not support the tracker. NULL: always
     * supported. */
    int (*open)(struct region *region, const char *path);
    void (*close)(struct region *region);
    int (*watch)(struct region *region, uint64_t offset, uint64_t bytes);
    int (*collect)(struct region *region);
    void (*admit)(struct region *region, uint64_t offset, uint64_t bytes); /* NULL: system calls can write anyway */
    void (*inherit)(struct region *region);
};

extern const struct tracker tracker_uffd, tracker_mprotect;

/* A tracker calls this for pages that it found changed; it has the effect of an announcement by the program. */
void pages_changed(struct region *region, uint64_t offset, uint64_t bytes);

#endif
