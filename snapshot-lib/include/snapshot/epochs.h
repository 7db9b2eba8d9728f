/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints: one commit per epoch instead of one commit per transaction.
 *
 * All threads together commit a file that is mapped with SNAPSHOT_PROTOCOL_EPOCH. Each thread writes its stores to a
 * separate log. A crash loses the stores since the last checkpoint: always all of them, never a part.
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
 * The calls are in libsnapshot-epochs. docs/explanation/epochs.md describes how they work.
 */
#ifndef SNAPSHOT_EPOCHS_H
#define SNAPSHOT_EPOCHS_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A protocol for snapshot_map(). libsnapshot rejects it: it is in libsnapshot-epochs only. */
#define SNAPSHOT_PROTOCOL_EPOCH (5u << 8)

/*
 * A flag for snapshot_map() with the protocol above: opening copies nothing. A thread of the library copies each page
 * of the file at its first access. Errors: -EPERM the process may not handle page faults of the kernel with
 * userfaultfd, -EOPNOTSUPP the kernel has no userfaultfd.
 */
#define SNAPSHOT_EPOCH_LAZY (1u << 14)

/* A period: only snapshot_sync() and msync() make checkpoints. */
#define SNAPSHOT_EPOCHS_BY_CALL UINT64_MAX

/* A thread of the library copies committed content to the file. Without this flag, snapshot_epochs_replay() does,
 * and each checkpoint that needs the space in the log. */
#define SNAPSHOT_REPLAY_BACKGROUND 1u

struct snapshot_epochs {
    uint64_t period_ns;       /* time from one checkpoint until the next is due, or SNAPSHOT_EPOCHS_BY_CALL */
    uint64_t timeout_ns;      /* the longest time for which a checkpoint waits until all threads are at a point */
    unsigned flags;           /* SNAPSHOT_REPLAY_BACKGROUND */
    uint64_t (*now_ns)(void); /* called by any thread; NULL: CLOCK_MONOTONIC */
};

struct snapshot_epochs_stats {
    uint64_t epoch_durable;   /* the number of the last checkpoint */
    uint64_t epoch_replayed;  /* the last epoch that is in the file */
    uint64_t checkpoints;     /* checkpoints that had something to commit */
    uint64_t timeouts;        /* checkpoints that failed with -ETIMEDOUT */
    uint64_t lists_written;   /* logs of threads that were not empty, over all checkpoints */
    uint64_t stop_ns;         /* time from the last thread's arrival at a point until all may continue, summed */
    uint64_t stop_ns_max;     /* the longest of these times */
    uint64_t waits_for_room;  /* checkpoints that had to wait until a replay made space in the log */
    uint64_t replayed_epochs; /* since the file was mapped, like all numbers but the first two */
    uint64_t replayed_lines;  /* 64-byte lines copied to the file */
    uint64_t replay_ns;       /* summed over all replays */
    uint64_t pages_in;        /* pages copied from the file so far, with SNAPSHOT_EPOCH_LAZY */
};

/*
 * Make checkpoints according to the options from now on. Before this call only calls make checkpoints, they wait for
 * other threads for at most one second, and no thread replays them. Returns 0; -EINVAL: no such mapping, period or
 * time-out 0, or unknown flags; -EOPNOTSUPP: the file is not mapped with SNAPSHOT_PROTOCOL_EPOCH; -EALREADY: started;
 * -EPERM: forked child; -EAGAIN: the thread cannot be created.
 */
int snapshot_epochs_start(void *address, const struct snapshot_epochs *options);

/* Return to checkpoints by call. Makes no checkpoint. Returns 0, -EINVAL, -EOPNOTSUPP or -EPERM. */
int snapshot_epochs_stop(void *address);

/*
 * Announce that the calling thread stores to the file, so that checkpoints wait for it. The call waits for a checkpoint
 * that is being made. A thread that has not called it enters with its first announced store. Returns 0, -EINVAL,
 * -EOPNOTSUPP or -EPERM.
 */
int snapshot_epoch_enter(void *address);

/* The calling thread stores to the file no more. Its stores so far are part of the next checkpoint. The end of a
 * thread has the same effect. Returns 0, -EINVAL, -EOPNOTSUPP or -EPERM. */
int snapshot_epoch_leave(void *address);

/*
 * The stores of the calling thread are consistent. If another thread makes a checkpoint, the call takes part in it. If
 * a checkpoint is due, the call makes it and returns the result of snapshot_sync(). Otherwise it returns 0.
 */
int snapshot_epoch_point(void *address);

/* While idle, the thread stores nothing, and no checkpoint waits for it. Becoming idle is a point. Returns 0, or the
 * result of a point. */
int snapshot_epoch_idle(void *address, bool idle);

/* Copy committed content from the log to the file. Returns 0; -EUCLEAN: the log is damaged; -EINVAL, -EOPNOTSUPP or
 * -EPERM. */
int snapshot_epochs_replay(void *address);

/* Returns 0, -EINVAL or -EOPNOTSUPP. A forked child reads the numbers of its parent at the fork. */
int snapshot_epochs_get_stats(const void *address, struct snapshot_epochs_stats *stats);

/*
 * On a file with this protocol snapshot_sync() makes a checkpoint. It may also return -ETIMEDOUT: a thread that has
 * entered reached no point in time; nothing was changed, and the epoch continues. snapshot_rollback() may also return
 * -EBUSY: another thread has entered and is not idle.
 */

#ifdef __cplusplus
}
#endif

#endif
