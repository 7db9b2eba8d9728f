/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tracker: how the library learns of the program's stores to a working copy. The compiler pass is one tracker: the
 * program announces each store before it makes it, and the library has nothing to ask. The other trackers, in the
 * folder track/, need no compiler: the kernel knows which pages were stored to. Code that is about to use the list of
 * changes first calls tracker_collect().
 *
 * Only libsnapshot-pages has the other trackers. In libsnapshot the calls below compile to nothing, so measurements of
 * the pass include no instruction of theirs.
 */
#ifndef SNAPSHOT_TRACKER_H
#define SNAPSHOT_TRACKER_H

#include "region.h"

#ifdef SNAPSHOT_PAGES

/* The flags of snapshot_map() without those that select a tracker. */
unsigned tracker_flags_removed(unsigned flags);

/* Choose a tracker for a file with a known protocol. Returns 0; -EINVAL, -EOPNOTSUPP, -EPERM and a line on stderr. */
int tracker_open(struct region *region, const struct open_request *request);
void tracker_close(struct region *region);

/* Treat these pages as unchanged from now on. No thread may store to them during the call. Returns 0 or -errno. */
int tracker_watch(struct region *region, uint64_t offset, uint64_t bytes);

/*
 * The library has stored to these pages since they were collected; treat them as unchanged. In a program of several
 * threads they still count as changed, because another thread may have stored to them, too.
 */
int tracker_forget(struct region *region, uint64_t offset, uint64_t bytes);

/* Announce every page that was stored to since it was watched, and watch it again. Returns 0, or -errno: may be
 * repeated. Call tracker_collect() with the mutex held, and tracker_collect_alone() without it. */
int tracker_collect(struct region *region);
int tracker_collect_alone(struct region *region);

/* Let a system call write this range, which is announced: it must not meet a write-protected page. */
void tracker_admit(struct region *region, uint64_t offset, uint64_t bytes);

/* True if a store of the library that changes nothing adds a page to the next commit. */
bool tracker_sees_own_stores(const struct region *region);

/* Called in a forked child: nothing watches its working copy. */
void tracker_inherit(struct region *region);

#else

static inline unsigned tracker_flags_removed(unsigned flags) { return flags; }
static inline int tracker_open(struct region *region, const struct open_request *request) {
    (void)region;
    (void)request;
    return 0;
}
static inline void tracker_close(struct region *region) { (void)region; }
static inline int tracker_watch(struct region *region, uint64_t offset, uint64_t bytes) {
    (void)region;
    (void)offset;
    (void)bytes;
    return 0;
}
static inline int tracker_forget(struct region *region, uint64_t offset, uint64_t bytes) {
    (void)region;
    (void)offset;
    (void)bytes;
    return 0;
}
static inline int tracker_collect(struct region *region) {
    (void)region;
    return 0;
}
static inline int tracker_collect_alone(struct region *region) {
    (void)region;
    return 0;
}
static inline void tracker_admit(struct region *region, uint64_t offset, uint64_t bytes) {
    (void)region;
    (void)offset;
    (void)bytes;
}
static inline bool tracker_sees_own_stores(const struct region *region) {
    (void)region;
    return false;
}
static inline void tracker_inherit(struct region *region) { (void)region; }

#endif

#endif
