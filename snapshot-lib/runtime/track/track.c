/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of a file's tracker, and the interface of trackers to the rest of the library. */
#include "trackers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>

#include "base/tracker.h"
#include "base/uncancelled.h"
#include "core/announce.h"
#include "core/commit.h"
#include "protocol/protocols.h"

#define TRACK_MASK (SNAPSHOT_TRACK_UFFD | SNAPSHOT_TRACK_MPROTECT | SNAPSHOT_TRACK_PASS)

/* The compiler pass. The program announces every store, so there is nothing to ask. */
static const struct tracker tracker_pass = {.name = "pass", .flag = SNAPSHOT_TRACK_PASS};

static const struct tracker *const trackers[] = {&tracker_uffd, &tracker_mprotect, &tracker_pass};
static const size_t tracker_count = sizeof(trackers) / sizeof(trackers[0]);

/* By index of the region. Only the opening and closing of a file, and calls under its mutex, read or change its
 * entry. */
static const struct tracker *chosen[REGIONS_MAX];

static const struct tracker *tracker_of(const struct region *region) { return chosen[region - regions]; }

static bool watches(const struct region *region) { return tracker_of(region) && tracker_of(region)->watch; }

unsigned tracker_flags_removed(unsigned flags) { return flags & ~TRACK_MASK; }

static const struct tracker *by_flag(unsigned flag) {
    for (size_t i = 0; i < tracker_count; i++)
        if (trackers[i]->flag == flag)
            return trackers[i];
    return NULL;
}

static const struct tracker *by_name(const char *name) {
    for (size_t i = 0; i < tracker_count; i++)
        if (strcmp(trackers[i]->name, name) == 0)
            return trackers[i];
    return NULL;
}

/* Choose by the flags, else by SNAPSHOT_TRACK, else uffd: a program that links this library need not use the pass.
 * NULL, and a line on stderr, if the choice is not valid. */
static const struct tracker *choose(unsigned flags) {
    const char *name = getenv("SNAPSHOT_TRACK");
    if (flags & TRACK_MASK) {
        const struct tracker *found = by_flag(flags & TRACK_MASK);
        if (!found)
            fprintf(stderr, "snapshot: the flags ask for two trackers: give one of SNAPSHOT_TRACK_*\n");
        return found;
    }
    if (!name || !*name)
        return &tracker_uffd;
    const struct tracker *found = by_name(name);
    if (!found)
        fprintf(stderr, "snapshot: SNAPSHOT_TRACK=%s is no tracker; there are uffd mprotect pass\n", name);
    return found;
}

/* A tracker of pages finds a page after it has changed, but the other protocols log the content before the change. */
static bool can_commit_pages(const struct region *region, const char *path) {
    if (region->protocol == &protocol_redo)
        return true;
    fprintf(stderr,
            "snapshot: %s: the protocol %s needs what a store overwrites, and pages are found after it: use the "
            "protocol redo, or the compiler pass with SNAPSHOT_TRACK=pass\n",
            path, region->protocol->name);
    return false;
}

int tracker_open(struct region *region, const struct open_request *request) {
    UNCANCELLED; /* messages */
    const struct tracker *tracker = request->recover_only ? &tracker_pass : choose(request->flags);
    chosen[region - regions] = NULL;
    if (!tracker || (tracker->watch && !can_commit_pages(region, request->path)))
        return -EINVAL;
    int status = tracker->open ? tracker->open(region, request->path) : 0;
    if (status == 0)
        chosen[region - regions] = tracker;
    return status;
}

void tracker_close(struct region *region) {
    if (watches(region))
        tracker_of(region)->close(region);
    chosen[region - regions] = NULL;
}

int tracker_watch(struct region *region, uint64_t offset, uint64_t bytes) {
    return watches(region) ? tracker_of(region)->watch(region, offset, bytes) : 0;
}

int tracker_forget(struct region *region, uint64_t offset, uint64_t bytes) {
    if (!__libc_single_threaded)
        return tracker_watch(region, offset + bytes, 0); /* watch nothing, but note that the file may end there now */
    return tracker_watch(region, offset, bytes);
}

int tracker_collect(struct region *region) { return watches(region) ? tracker_of(region)->collect(region) : 0; }

int tracker_collect_alone(struct region *region) {
    region_enter(region);
    int status = tracker_collect(region);
    region_leave(region);
    return status;
}

void tracker_admit(struct region *region, uint64_t offset, uint64_t bytes) {
    if (watches(region) && tracker_of(region)->admit)
        tracker_of(region)->admit(region, offset, bytes);
}

bool tracker_sees_own_stores(const struct region *region) { return watches(region); }

void tracker_inherit(struct region *region) {
    if (watches(region))
        tracker_of(region)->inherit(region);
    chosen[region - regions] = NULL;
}

/* Announce the part within the file: nothing is kept behind its end. */
void pages_changed(struct region *region, uint64_t offset, uint64_t bytes) {
    uint64_t room = offset < region->bytes ? region->bytes - offset : 0;
    if (room > 0)
        announce(thread_log_get(region), offset, bytes < room ? bytes : room);
}
