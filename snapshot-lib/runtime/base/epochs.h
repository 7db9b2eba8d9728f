/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hooks of epochs in the rest of the library: checkpoints that threads make together replace the plain commit, and
 * a thread of the library may be replaying a log that is about to move.
 *
 * Only libsnapshot-epochs has them. Elsewhere the calls below compile to nothing.
 */
#ifndef SNAPSHOT_BASE_EPOCHS_H
#define SNAPSHOT_BASE_EPOCHS_H

#include "region.h"

#ifdef SNAPSHOT_EPOCHS

/* True for a file with the protocol `epoch`. The other calls do nothing for files with another protocol. */
bool epochs_are_kept(const struct region *region);

void epochs_open(struct region *region);
void epochs_close(struct region *region); /* before the log is detached */

/* Called in place of filling the working copy. Returns 1 if pages are copied in at their first access, as the flags
 * ask; 0 if the caller must fill the working copy; -errno. */
int epochs_page_in(struct region *region, unsigned flags);
void epochs_release(struct region *region); /* before the working copy is unmapped */
void epochs_before_fork(void);
void epochs_inherit(struct region *region); /* called by a forked child */

/* Called in place of a commit and a rollback. */
int epochs_commit(struct region *region);
int epochs_rollback(struct region *region);

/* Between these two calls no thread replays: the caller may move log and file. */
void epochs_pause(struct region *region);
void epochs_resume(struct region *region);

/* Add the fences and bytes of replays. */
void epochs_count(const struct region *region, struct snapshot_stats *stats);

/* The calling thread waits for other threads: checkpoints do not wait for it until it announces a store. */
void epochs_wait(void);

/* The calling thread ends. The lock of all files is held, so that no file is closed meanwhile. */
void epochs_thread_end(void);

/* For thread_is_at_work(). */
bool epochs_are_at_work(const struct region *region);

#else

static inline bool epochs_are_kept(const struct region *region) {
    (void)region;
    return false;
}
static inline void epochs_open(struct region *region) { (void)region; }
static inline void epochs_close(struct region *region) { (void)region; }
static inline int epochs_page_in(struct region *region, unsigned flags) {
    (void)region;
    (void)flags;
    return 0;
}
static inline void epochs_release(struct region *region) { (void)region; }
static inline void epochs_before_fork(void) {}
static inline void epochs_inherit(struct region *region) { (void)region; }
static inline int epochs_commit(struct region *region) {
    (void)region;
    return 0;
}
static inline int epochs_rollback(struct region *region) {
    (void)region;
    return 0;
}
static inline void epochs_pause(struct region *region) { (void)region; }
static inline void epochs_resume(struct region *region) { (void)region; }
static inline void epochs_count(const struct region *region, struct snapshot_stats *stats) {
    (void)region;
    (void)stats;
}
static inline void epochs_wait(void) {}
static inline void epochs_thread_end(void) {}
static inline bool epochs_are_at_work(const struct region *region) {
    (void)region;
    return false;
}

#endif

#endif
