/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A commit protocol: how stores become durable, all or nothing. The folder protocol/ has one file for each.
 *
 * The log file names the protocol that wrote it, so a file is always recovered by that protocol; the next opening may
 * use another one.
 */
#ifndef SNAPSHOT_PROTOCOL_H
#define SNAPSHOT_PROTOCOL_H

#include <stdatomic.h>
#include <stdint.h>

#include "vector.h"

struct recovery_job;
struct region;
struct thread_log;

/* COMMIT_DURABLE: the commit is durable when the call returns (MS_SYNC). COMMIT_DECLARED: the commit is durable at
 * the latest with the next durable commit (MS_ASYNC). */
enum commit_mode { COMMIT_DURABLE, COMMIT_DECLARED };

struct protocol {
    const char *name;
    uint32_t id;   /* number in the log file and in the flags of snapshot_map() */
    uint32_t sets; /* number of sets of chunks */

    /* Called by a thread that is about to announce and is not known to be inside, before it shuts out commits: the
     * hook may wait. NULL: nothing to do. */
    void (*enter)(struct region *region);

    /* Log a range before a store to it; a tracker of pages announces it afterwards. The range lies within the file.
     * Any thread may call it, with its own log. No commit of another thread collects meanwhile. */
    void (*log_range)(struct thread_log *thread, uint64_t offset, uint64_t bytes);

    /*
     * Do everything of a commit except its last fence, which region_settle() issues. There are changes, and the mutex
     * is held. Returns -ENOSPC, or -EUCLEAN for a damaged log: then nothing has changed. On success each log has passed
     * log_epoch_end(); the caller relies on that. The lines that held logs list are committed with their copied content
     * (protocol/held.h) and stay listed.
     */
    int (*commit)(struct region *region, enum commit_mode mode);

    /* The new epoch has begun: log the lines that a held log lists, as part of it. NULL: they need not be logged. */
    void (*carry)(struct thread_log *thread);

    /* Called after the last fence of a commit in a program of one thread. Its writes are left to the fence of the
     * next commit. NULL: nothing to do. */
    void (*settled)(struct region *region);

    /* Write committed content that is in the log alone to the file, durably. -EUCLEAN: nothing has changed. NULL:
     * the log never has the only copy. */
    int (*publish)(struct region *region);

    /* Return the working copy to the last commit. The changed lines stay logged: the next commit commits them again,
     * unchanged. -EUCLEAN: nothing has changed. */
    int (*rollback)(struct region *region);

    /* After a rollback, or after the commit that precedes a cut: drop all changes except those of held logs. */
    void (*forget)(struct region *region);

    /* The file now ends before `line_limit`: remove this line and all lines behind it from the logs' lists. */
    void (*cut)(struct region *region, uint64_t line_limit);

    /* Bring the file to a committed state. May be interrupted and repeated; writes nothing but the file. -EUCLEAN is
     * returned before anything has changed, with one exception: `line` may have undone the unfinished epoch by then. */
    int (*recover)(struct recovery_job *job);
};

/* The protocols' state of a file. Only the protocols interpret it; the commit resets it for each epoch. */
struct protocol_state {
    atomic_uint_fast64_t order_next;              /* undo: number of this epoch's next entry; alone on its cache line */
    _Alignas(64) atomic_uint_fast64_t chunk_next; /* index of the next free chunk of this epoch */
};

/* Relaxed stores suffice: no thread announces meanwhile, and threads that announce later see the new values. */
static inline void protocol_state_next_epoch(struct protocol_state *state) {
    atomic_store_explicit(&state->chunk_next, 0, memory_order_relaxed);
    atomic_store_explicit(&state->order_next, 0, memory_order_relaxed);
}

/* For protocols, within a commit (core/commit.c) and with the mutex held: region_fence() issues a fence,
 * region_settle() the fence that a declared commit still lacks. */
void region_fence(struct region *region);
void region_settle(struct region *region);

/* A part of a commit, for one log. Returns 0 or a negative errno. */
typedef int log_work(struct thread_log *thread);

#endif
