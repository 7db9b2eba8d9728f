/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `uffd`: the kernel reports which pages of the working copy were stored to, without a signal or another thread.
 *
 * The first store to a page since the last scan costs a page fault. A scan looks at every page of the file, however few
 * of them have changed.
 */
#include <stdio.h>

#include "trackers.h"
#include "written_pages.h"

static struct written_pages watches[REGIONS_MAX];

static struct written_pages *watch_of(const struct region *region) { return &watches[region - regions]; }

static int watch_open(struct region *region, const char *path) {
    const char *why;
    int status = written_pages_open(watch_of(region), &why);
    if (why)
        fprintf(stderr, "snapshot: %s: %s: set SNAPSHOT_TRACK=mprotect, or compile with snapcc and set it to pass\n",
                path, why);
    return status;
}

static void watch_close(struct region *region) { written_pages_close(watch_of(region)); }

static int watch_range(struct region *region, uint64_t offset, uint64_t bytes) {
    return written_pages_watch(watch_of(region), region->working + offset, bytes);
}

static void found(void *region, uint64_t offset, uint64_t bytes) { pages_changed(region, offset, bytes); }

static int collect(struct region *region) {
    return written_pages_take(watch_of(region), region->working, region->mapped_bytes, found, region);
}

/* The child's pages are not registered, and its descriptors refer to the parent's pages. */
static void inherit(struct region *region) { watch_close(region); }

const struct tracker tracker_uffd = {
    .name = "uffd",
    .flag = SNAPSHOT_TRACK_UFFD,
    .open = watch_open,
    .close = watch_close,
    .watch = watch_range,
    .collect = collect,
    .inherit = inherit,
};
