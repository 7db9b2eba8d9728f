/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SNAPSHOT_THREAD_LOG_H
#define SNAPSHOT_THREAD_LOG_H

#include <sys/single_threaded.h>

#include "base/region.h"
#include "format.h"

/*
 * State of a line of the working copy within the epoch. Busy: a thread is about to log it. Listed: some log lists it;
 * with a tag, the log of that tag does, and others may.
 */
enum line_state { LINE_CLEAN = 0, LINE_BUSY = 1, LINE_LISTED = 2, LINE_NO_TAG = 3, LINE_TAG_FIRST = 4 };

/* Whether a thread may be about to store something that it has announced. Never freed: a commit may look at any time.
 */
struct presence {
    atomic_bool inside;
    atomic_uint holds_seen; /* of `presence_holds`, when the thread last rested */
    struct presence *next;  /* unused ones */
};

/* What one thread has done to one region in this epoch. The region owns it; a thread that ends hands it on. */
struct thread_log {
    struct block block; /* being filled */
    struct region *region;
    struct thread_log *next;
    atomic_bool in_use;
    atomic_bool announcing;           /* no commit collects meanwhile */
    _Atomic(struct presence *) owner; /* NULL: the thread has ended */
    bool held;                        /* for the commit under way: the owner may still store what it has announced */
    uint8_t tag;       /* by which its thread knows a line that this log lists; LINE_NO_TAG: it has none */
    uint8_t mark;      /* state of the lines that this log lists: its tag or LINE_LISTED */
    uint8_t *relisted; /* a bit for each line that is listed although another log had it; NULL: none */
    uint64_t relisted_bytes;
    struct vector held_lines; /* undo: the lines of a held log */
    struct vector chunks;     /* undo: offsets of the chunks that this log has in this epoch */
    struct vector changes;    /* what was logged, in order; what an item is depends on the protocol */
    uint64_t change_count;    /* also of those that a protocol does not list */
    uint32_t block_words;     /* undo: used of the block's content */
    uint8_t *chunk;           /* where the next block goes; NULL: needs a chunk */
    uint8_t *chunk_end;
    uint32_t sequence;
    struct vector waiting; /* blocks for which there was no space in the log */
    uint64_t log_bytes;    /* written to the log file */
    uint64_t fences;
};

/* What the calling thread knows of each region. The tag is of lines that it may store to as they are: its log lists
 * them, and it is inside. */
struct thread_slot {
    struct thread_log *log;
    uint64_t generation;
    uint8_t tag;
};
extern _Thread_local struct thread_slot thread_slots[REGIONS_MAX]
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* threads.c */
struct thread_log *thread_log_get(struct region *region);
const struct thread_log *thread_log_own(const struct region *region); /* NULL: the calling thread has none */

/* Around announcing: commits wait. From the first of them on, the thread is inside until it rests. */
struct thread_log *announce_begin_slowly(struct region *region);
static inline struct thread_log *announce_begin(struct region *region) {
    const struct thread_slot *slot = &thread_slots[region - regions];
    bool is_inside = slot->generation == region->generation && slot->tag != LINE_NO_TAG;
    return is_inside && __libc_single_threaded ? slot->log : announce_begin_slowly(region);
}
static inline void announce_end(struct thread_log *thread) {
    if (atomic_load_explicit(&thread->announcing, memory_order_relaxed))
        atomic_store_explicit(&thread->announcing, false, memory_order_release);
}

/* Before and after a commit collects: no thread announces, and logs whose owner is inside are marked as held. True if
 * there are such. */
bool announcements_stop(struct region *region);
void announcements_resume(struct region *region);

/* The calling thread has stored all that it has announced: it is outside. `thread_rests` only if a commit held its log
 * since it last was. */
void thread_leaves(void);
void thread_rests(void);
bool thread_is_inside(void);

void thread_logs_free(struct region *region);
void relisted_free(struct thread_log *thread);
void thread_logs_inherit(void); /* by a forked child */

#define for_each_thread(thread, region)                                                                                \
    for (struct thread_log *thread = atomic_load(&(region)->threads); thread; thread = thread->next)

#endif
