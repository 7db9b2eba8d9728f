/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tracker: how the library learns what a program has stored to a working copy. The compiler pass is one: the program
 * announces each store before it makes it, and there is nothing to ask. The others, in the folder track/, need no
 * compiler: the kernel knows which pages were stored to, and whoever is about to use the list of what has changed has
 * it asked first.
 *
 * Only libsnapshot-pages has those. In libsnapshot the calls below are nothing, and compile to nothing: what is
 * measured of the pass has no instruction of theirs.
 */
#ifndef SNAPSHOT_TRACKER_H
#define SNAPSHOT_TRACKER_H

#include "region.h"

#ifdef SNAPSHOT_PAGES

/* The flags of snapshot_map() without what they say of trackers. */
unsigned tracker_flags_removed(unsigned flags);

/* Choose one for a file, whose protocol is known. 0; -EINVAL, -EOPNOTSUPP, -EPERM and a line on stderr. */
int tracker_open(struct region *region, const struct open_request *request);
void tracker_close(struct region *region);

/* Pages count as unchanged from here on. No thread may store to them during the call. 0 or -errno. */
int tracker_watch(struct region *region, uint64_t offset, uint64_t bytes);

/*
 * The library has stored to these pages since they were collected, which is no change of the program's. In a program of
 * several threads another thread may have stored to them, too, so that they count as changed there.
 */
int tracker_forget(struct region *region, uint64_t offset, uint64_t bytes);

/* Announce every page that was stored to since it was watched, and watch it again. 0, or -errno: may be repeated. The
 * mutex is held; `_alone`: it is not. */
int tracker_collect(struct region *region);
int tracker_collect_alone(struct region *region);

/* Something that is announced may be written by a system call. */
void tracker_admit(struct region *region, uint64_t offset, uint64_t bytes);

/* True if a store that changes nothing costs a page of the next commit. */
bool tracker_sees_own_stores(const struct region *region);

/* In a forked child, whose working copy nobody watches. */
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
