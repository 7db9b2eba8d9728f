/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A commit protocol: how stores become durable, all or nothing. The folder protocol/ has one file for each.
 *
 * The log file says which protocol wrote it, so a file is always recovered by that one; the next may be another.
 */
#ifndef SNAPSHOT_PROTOCOL_H
#define SNAPSHOT_PROTOCOL_H

#include <stdatomic.h>
#include <stdint.h>

#include "vector.h"

struct recovery_job;
struct region;
struct thread_log;

/* Durable: when the call returns (MS_SYNC). Declared: at the latest with the next commit that is (MS_ASYNC). */
enum commit_mode { COMMIT_DURABLE, COMMIT_DECLARED };

struct protocol {
    const char *name;
    uint32_t id;   /* as in the log file and in the flags of snapshot_map() */
    uint32_t sets; /* of chunks */

    /* The calling thread is about to announce, and need not come before it does. NULL: nothing to do. */
    void (*enter)(struct region *region);

    /* Before a store. The range lies in the file. Any thread, by its own log; no commit collects meanwhile. */
    void (*log_range)(struct thread_log *thread, uint64_t offset, uint64_t bytes);

    /*
     * Everything a commit takes but its last fence: that is region_settle()'s. There are changes, the mutex is held.
     * -ENOSPC, -EUCLEAN the log is damaged: nothing has changed. Else each log is at its end of the epoch, which the
     * caller counts on. What held logs list is committed as it is copied (protocol/held.h), and stays listed.
     */
    int (*commit)(struct region *region, enum commit_mode mode);

    /* The new epoch has begun, and what the held log lists is part of it. NULL: it need not be logged. */
    void (*carry)(struct thread_log *thread);

    /* After the last fence of a program of one thread, and not waited for. NULL: nothing to do. */
    void (*settled)(struct region *region);

    /* Bring to the file, durably, what is committed and in the log alone. -EUCLEAN: nothing has changed. NULL: nothing
     * is. */
    int (*publish)(struct region *region);

    /* Take the working copy back to the last commit. What was changed stays logged: it is committed again, unchanged.
     * -EUCLEAN: nothing has changed. */
    int (*rollback)(struct region *region);

    /* After a rollback: what was changed need not be committed, but for what held logs list. */
    void (*forget)(struct region *region);

    /* The file is about to end before this line: no log lists it, or one behind it. */
    void (*cut)(struct region *region, uint64_t line_limit);

    /* -EUCLEAN before anything has changed. May be interrupted and repeated; writes nothing but the file. */
    int (*recover)(struct recovery_job *job);
};

/* What the protocols keep of a file. Only they know what is in it; others begin the next epoch, and free it. */
struct protocol_state {
    atomic_uint_fast64_t order_next;              /* undo: of this epoch; alone on its line */
    _Alignas(64) atomic_uint_fast64_t chunk_next; /* of this epoch */
};

/* No thread announces, and those that do later see this. */
static inline void protocol_state_next_epoch(struct protocol_state *state) {
    atomic_store_explicit(&state->chunk_next, 0, memory_order_relaxed);
    atomic_store_explicit(&state->order_next, 0, memory_order_relaxed);
}

/* What a protocol asks of the commit that calls it (core/commit.c): a fence, and the one a declared commit still lacks.
 * The mutex is held. */
void region_fence(struct region *region);
void region_settle(struct region *region);

/*
 * Part of a commit, for each log once; when it returns, all of it is done. Threads that wait for this commit do it of
 * their own logs side by side, and fence what they wrote. The caller does the rest, and its fence is still to come.
 * 0 or the first status that is not.
 */
typedef int log_work(struct thread_log *thread);
int region_each_log(struct region *region, log_work *work);

#endif
