/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SNAPSHOT_THREAD_LOG_H
#define SNAPSHOT_THREAD_LOG_H

#include <sys/single_threaded.h>

#include "base/region.h"
#include "format.h"

/* Once around a loop that waits for another thread; so often before it gives its CPU away. A test lets that thread run
 * then, and has fewer spins, as each is a step that it explores. */
#ifdef SNAPSHOT_RELAX
void SNAPSHOT_RELAX(void);
extern unsigned SPINS;
static inline void relax(void) { SNAPSHOT_RELAX(); }
#else
#define SPINS 1000u
static inline void relax(void) { __builtin_ia32_pause(); }
#endif

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

/* In the chunks of an epoch: where the next block of a list goes. */
struct list_place {
    uint64_t epoch;
    uint64_t chunk;
    uint32_t offset, sequence; /* in the chunk */
    uint32_t epoch_lines;      /* that all lists have together */
};

#define NO_GROUP UINT64_MAX

struct log_counts {
    uint64_t log_bytes, data_bytes, lines_logged, fences;
};

/* What one thread has done to one region in this epoch. The region owns it; a thread that ends hands it on. */
struct thread_log {
    struct block block; /* being filled */

    /* A line of memory for what the thread tells a commit of others (core/group.c). */
    struct thread_log *next;
    _Atomic(struct presence *) owner; /* NULL: the thread has ended */
    atomic_uint_fast64_t call;        /* the number of the call to commit that waits; 0: none */
    atomic_uint_fast64_t work;        /* STEP_TAKEN() or STEP_DONE() of the last step whose work was begun */
    int work_status;
    atomic_bool in_use;
    atomic_bool announcing; /* no commit collects meanwhile */
    struct vector changes;  /* what was logged, in order; what an item is depends on the protocol */

    /* One for what a thread that commits tells the others. */
    _Alignas(LINE_BYTES) struct list_place place; /* protocol/lists.h */
    uint64_t group;                               /* the last one that the thread joined, or NO_GROUP */
    atomic_uint_fast64_t joined_call;             /* by this call */
    int call_status;
    bool held;             /* for the commit under way: the owner may still store what it has announced */
    bool is_expected;      /* the thread may commit again soon: worth a short wait */
    uint8_t skips, misses; /* so many of its commits until it is expected again; what the next miss makes of that */

    /* And one for what the thread changes when it announces. */
    _Alignas(LINE_BYTES) struct region *region;
    uint64_t calls;        /* to commit, that were ever made */
    uint64_t change_count; /* also of those that a protocol does not list */
    uint8_t tag;           /* by which its thread knows a line that this log lists; LINE_NO_TAG: it has none */
    uint8_t mark;          /* state of the lines that this log lists: its tag or LINE_LISTED */
    uint8_t *relisted;     /* a bit for each line that is listed although another log had it; NULL: none */
    uint64_t relisted_bytes;

    struct vector held_lines; /* undo: the lines of a held log */
    struct vector chunks;     /* undo: offsets of the chunks that this log has in this epoch */
    struct vector committed;  /* lines: redo: of the last commit, in the log alone; undo: of the commit under way */
    struct vector due;        /* redo: lines of the commit before it that the file may have when it is settled */
    uint64_t data_hash;       /* line: of what was written of this log */
    uint32_t block_words;     /* undo: used of the block's content */
    uint8_t *chunk;           /* where the next block goes; NULL: needs a chunk */
    uint8_t *chunk_end;
    uint32_t sequence;
    struct vector waiting;     /* blocks for which there was no space in the log */
    struct log_counts counts;  /* of this epoch */
    struct log_counts counted; /* of those before it */
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

/* The number of its call to commit that no group has answered or is about to answer; 0: none. */
static inline uint64_t call_waiting(const struct thread_log *thread) {
    uint64_t call = atomic_load_explicit(&thread->call, memory_order_acquire);
    return call == atomic_load_explicit(&thread->joined_call, memory_order_relaxed) ? 0 : call;
}

/* Of the group whose commit is under way, or is the next one. */
static inline uint64_t group_number(struct region *region) {
    return atomic_load_explicit(&region->group.step, memory_order_acquire) / GROUP_STEPS;
}

/* threads.c */
struct thread_log *thread_log_get(struct region *region);
struct thread_log *thread_log_own(const struct region *region); /* NULL: the calling thread has none */

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
 * there are such. `joins`: logs whose owner waits to commit are part of this commit's group. */
bool announcements_stop(struct region *region, bool joins);
void announcements_resume(struct region *region);

/*
 * A thread that waits for what other threads do to a file. It looks again and again, each time between these two calls;
 * after some times it sleeps until one of the others, having done something, calls region_turn().
 */
struct watch {
    unsigned looks, turn;
};
void watch_begin(struct region *region, struct watch *watch);
void watch_end(struct region *region, const struct watch *watch, bool is_over);
void region_turn(struct region *region);
void region_unlock(struct region *region);

/* The calling thread has stored all that it has announced: it is outside. `thread_rests`, before calls that are made
 * often and seldom wait: only if a commit held its log since it last was. `thread_waits`, before calls that may last:
 * if there are other threads. */
void thread_leaves(void);
void thread_rests(void);
void thread_waits(void);
bool thread_is_inside(void);

/* The commit has the log: what follows belongs to the next epoch. */
void log_epoch_end(struct thread_log *thread);

void thread_logs_free(struct region *region);
void relisted_free(struct thread_log *thread);
void thread_logs_inherit(void); /* by a forked child */

#define for_each_thread(thread, region)                                                                                \
    for (struct thread_log *thread = atomic_load(&(region)->threads); thread; thread = thread->next)

#endif
