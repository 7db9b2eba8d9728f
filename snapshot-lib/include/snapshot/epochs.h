/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints: a commit an epoch instead of a commit a transaction.
 *
 * A file that is mapped with SNAPSHOT_PROTOCOL_EPOCH is committed by all threads together, each of which writes what it
 * has stored to a log of its own. What was stored since the last checkpoint is lost in a crash: all of it, and never a
 * part.
 *
 *     snapshot_map(path, bytes, SNAPSHOT_PROTOCOL_EPOCH, NULL, &address);
 *     snapshot_epochs_start(address, &(struct snapshot_epochs){.period_ns = 64000000, .timeout_ns = 1000000000});
 *     in each thread:
 *         snapshot_epoch_enter(address);
 *         for (;;) {
 *             snapshot_log_range(&item->value, sizeof(item->value));  // before each store; the pass does it by itself
 *             item->value = value;
 *             snapshot_epoch_point(address);                          // nothing is half done here
 *         }
 *
 * They are in libsnapshot-epochs. docs/epochs.md says how they work.
 */
#ifndef SNAPSHOT_EPOCHS_H
#define SNAPSHOT_EPOCHS_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For snapshot_map(), which libsnapshot refuses. */
#define SNAPSHOT_PROTOCOL_EPOCH (5u << 8)

/* Also for snapshot_map(), with the above: what is in the file is copied page by page, at the first touch of each, and
 * opening does not wait for it. -EPERM the process may not use userfaultfd so, -EOPNOTSUPP the kernel has none. */
#define SNAPSHOT_EPOCH_LAZY (1u << 14)

/* A period: checkpoints are made by snapshot_sync() and msync() alone. */
#define SNAPSHOT_EPOCHS_BY_CALL UINT64_MAX

/* A thread of the library brings what is committed to the file. Without it a checkpoint that needs the room does, and
 * snapshot_epochs_replay(). */
#define SNAPSHOT_REPLAY_BACKGROUND 1u

struct snapshot_epochs {
    uint64_t period_ns;       /* a checkpoint is due so long after the one before, or SNAPSHOT_EPOCHS_BY_CALL */
    uint64_t timeout_ns;      /* a checkpoint waits so long for threads to come to a point */
    unsigned flags;           /* SNAPSHOT_REPLAY_BACKGROUND */
    uint64_t (*now_ns)(void); /* any thread; NULL: CLOCK_MONOTONIC */
};

struct snapshot_epochs_stats {
    uint64_t epoch_durable;   /* the number of the last checkpoint */
    uint64_t epoch_replayed;  /* the last one that the file has */
    uint64_t checkpoints;     /* that had something to commit */
    uint64_t timeouts;        /* checkpoints that were given up */
    uint64_t lists_written;   /* logs of threads, of all checkpoints */
    uint64_t stop_ns;         /* time from the last thread's coming to a point to the going on of all, summed */
    uint64_t stop_ns_max;     /* the longest */
    uint64_t waits_for_room;  /* checkpoints that came before the replay had made room */
    uint64_t replayed_epochs; /* since the file was mapped, as are all but the first two */
    uint64_t replayed_lines;
    uint64_t replay_ns; /* all of them */
    uint64_t pages_in;  /* with SNAPSHOT_EPOCH_LAZY: copied from the file so far */
};

/*
 * From now on checkpoints are as the options say; until then they are by call, wait a second at most and are replayed
 * without a thread. 0; -EINVAL: no such mapping, period or time-out 0, or unknown flags; -EOPNOTSUPP: it is not mapped
 * with SNAPSHOT_PROTOCOL_EPOCH; -EALREADY: started; -EPERM: forked child; -EAGAIN: no thread can be made.
 */
int snapshot_epochs_start(void *address, const struct snapshot_epochs *options);

/* Back to checkpoints by call. Makes none. 0, -EINVAL, -EOPNOTSUPP or -EPERM. */
int snapshot_epochs_stop(void *address);

/*
 * The calling thread stores to the file: checkpoints wait for it. It waits for one that is being made. A thread that
 * stores without it has entered with its first store. 0, -EINVAL, -EOPNOTSUPP or -EPERM.
 */
int snapshot_epoch_enter(void *address);

/* It stores no more. What it has stored is part of the next checkpoint. The end of a thread does the same. */
int snapshot_epoch_leave(void *address);

/*
 * What the calling thread has stored is consistent. If another thread makes a checkpoint, it takes part in it, and if
 * one is due, it makes it: what snapshot_sync() returns, else 0.
 */
int snapshot_epoch_point(void *address);

/* While idle, the thread stores nothing and is waited for by nobody. Becoming idle is a point. 0, or as at a point. */
int snapshot_epoch_idle(void *address, bool idle);

/* Bring to the file what is committed. 0; -EUCLEAN the log is damaged; -EINVAL, -EOPNOTSUPP or -EPERM. */
int snapshot_epochs_replay(void *address);

/* 0, -EINVAL or -EOPNOTSUPP. A forked child reads the numbers of its parent at the fork. */
int snapshot_epochs_get_stats(const void *address, struct snapshot_epochs_stats *stats);

/*
 * On such a file snapshot_sync() makes a checkpoint. It also returns -ETIMEDOUT: a thread that has entered came to no
 * point in the time; nothing was changed, the epoch goes on. snapshot_rollback() also returns -EBUSY: another thread
 * has entered and is not idle.
 */

#ifdef __cplusplus
}
#endif

#endif
