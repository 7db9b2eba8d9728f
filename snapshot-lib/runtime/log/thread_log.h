/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SNAPSHOT_THREAD_LOG_H
#define SNAPSHOT_THREAD_LOG_H

#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/region.h"
#include "format.h"

/*
 * relax() is one turn of a loop that waits for another thread; SPINS is the number of turns before the thread gives
 * up its CPU. A test runs the other thread in relax(). It uses fewer spins, because each is a step that the test
 * explores.
 */
#ifdef SNAPSHOT_RELAX
void SNAPSHOT_RELAX(void);
extern unsigned SPINS;
static inline void relax(void) { SNAPSHOT_RELAX(); }
#else
#define SPINS 1000u
static inline void relax(void) { __builtin_ia32_pause(); }
#endif
static inline void relax_or_yield(unsigned spin) {
    if (spin < SPINS)
        relax();
    else
        syscall(SYS_sched_yield);
}

/*
 * State of a line of the working copy within the epoch. Busy: a thread is about to log it. Listed: some log lists it. A
 * tag: the log with that tag lists the line, and others may.
 */
enum line_state { LINE_CLEAN = 0, LINE_BUSY = 1, LINE_LISTED = 2, LINE_NO_TAG = 3, LINE_TAG_FIRST = 4 };

/* Whether a thread may be about to store to a range that it has announced. Never freed: a commit may read it at any
 * time. */
struct presence {
    atomic_bool inside;
    atomic_uint holds_seen; /* value of `presence_holds` when the thread last rested */
    struct presence *next;  /* list of unused ones */
};

/* Where the next block of a list goes, in the chunks of an epoch. */
struct list_place {
    uint64_t epoch;
    uint64_t chunk;
    uint32_t offset, sequence; /* in the chunk */
    uint32_t epoch_lines;      /* number of lines of all lists together */
};

#define NO_GROUP UINT64_MAX

struct log_counts {
    uint64_t log_bytes, data_bytes, lines_logged, fences;
};

/* The changes of one thread to one region in this epoch. The region owns the log; a thread that ends hands it on. */
struct thread_log {
    struct block block; /* being filled */

    /* One line of memory for the values that the thread passes to a commit of another thread (core/group.c). */
    struct thread_log *next;
    _Atomic(struct presence *) owner; /* NULL: the thread has ended */
    atomic_uint_fast64_t call;        /* number of the call to commit that waits; 0: no call waits */
    atomic_uint_fast64_t work;        /* STEP_TAKEN() or STEP_DONE() of the last step with work that was begun */
    int work_status;
    atomic_bool in_use;
    atomic_bool announcing; /* no commit collects meanwhile */
    struct vector changes;  /* the logged changes, in order; the meaning of an item depends on the protocol */

    /* One line for the values that a committing thread passes to the others. */
    _Alignas(LINE_BYTES) struct list_place place; /* protocol/lists.h */
    uint64_t group;                               /* the last group that the thread joined, or NO_GROUP */
    atomic_uint_fast64_t joined_call;             /* the call that joined it */
    int call_status;
    bool held;             /* for the commit under way: the owner may still store to ranges that it has announced */
    bool is_expected;      /* the thread may commit again soon: worth a short wait */
    uint8_t skips, misses; /* commits of the thread until it is expected again; value of `skips` after the last miss */

    /* One line for the values that the thread changes when it announces. */
    _Alignas(LINE_BYTES) struct region *region;
    uint64_t calls;        /* number of calls to commit so far */
    uint64_t change_count; /* includes changes that a protocol does not list */
    uint8_t tag;           /* its thread recognises lines of this log by it; LINE_NO_TAG: the log has no tag */
    uint8_t mark;          /* state of the lines that this log lists: its tag or LINE_LISTED */
    uint8_t *relisted;     /* one bit per line that is listed although another log had it; NULL: not allocated */
    uint64_t relisted_bytes;

    struct vector held_lines; /* undo: the lines of a held log */
    struct vector chunks;     /* undo: offsets of the chunks that this log has in this epoch */
    struct vector committed;  /* lines. redo: of the last commit, in the log alone; undo: of the commit under way */
    struct vector due;        /* redo: lines of the commit before, to be written when the last commit is settled */
    uint64_t data_hash;       /* line: hash of the content written for this log */
    uint32_t block_words;     /* undo: used words of the block's content */
    uint8_t *chunk;           /* place of the next block; NULL: the log needs a chunk */
    uint8_t *chunk_end;
    uint32_t sequence;
    struct vector waiting;     /* blocks for which the log file had no space */
    struct log_counts counts;  /* of this epoch */
    struct log_counts counted; /* of earlier epochs */
};

/* The calling thread's knowledge of each region. The thread may store to lines with this tag without another call:
 * its log lists them, and it is inside. */
struct thread_slot {
    struct thread_log *log;
    uint64_t generation;
    uint8_t tag;
};
extern _Thread_local struct thread_slot thread_slots[REGIONS_MAX]
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* The number of the thread's call to commit, unless a group has answered it or is about to; 0: no such call. */
static inline uint64_t call_waiting(const struct thread_log *thread) {
    uint64_t call = atomic_load_explicit(&thread->call, memory_order_acquire);
    return call == atomic_load_explicit(&thread->joined_call, memory_order_relaxed) ? 0 : call;
}

/* The number of the group with the commit under way, or of the next group. */
static inline uint64_t group_number(struct region *region) {
    return atomic_load_explicit(&region->group.step, memory_order_acquire) / GROUP_STEPS;
}

/* True if the calling thread has announced a store to the region and has not left since. A thread that is inside
 * because of another file may have left this one, and a commit may have emptied its log of this one. */
static inline bool thread_is_inside(const struct region *region) {
    const struct thread_slot *slot = &thread_slots[region - regions];
    return slot->generation == region->generation && slot->tag != LINE_NO_TAG;
}

/* threads.c */
struct thread_log *thread_log_get(struct region *region);
struct thread_log *thread_log_own(const struct region *region); /* NULL: the calling thread has none */

/* Called around an announcement: commits wait meanwhile. From the first announcement on, the thread is inside until
 * it leaves. */
struct thread_log *announce_begin_slowly(struct region *region);
static inline struct thread_log *announce_begin(struct region *region) {
    if (__libc_single_threaded && thread_is_inside(region))
        return thread_slots[region - regions].log;
    return announce_begin_slowly(region);
}
static inline void announce_end(struct thread_log *thread) {
    if (atomic_load_explicit(&thread->announcing, memory_order_relaxed))
        atomic_store_explicit(&thread->announcing, false, memory_order_release);
}

/*
 * Called before and after a commit collects. Meanwhile no thread announces, and the logs of owners that are inside are
 * marked as held. Returns true if there are such logs. `joins`: the logs of owners that wait to commit join the group
 * of this commit instead.
 */
bool announcements_stop(struct region *region, bool joins);
void announcements_resume(struct region *region);

/*
 * The state of a thread that waits for other threads to change a file. The thread checks its condition repeatedly, each
 * time between these two calls. After SPINS checks it sleeps until another thread has made a change and calls
 * region_turn().
 */
struct watch {
    unsigned looks, turn;
};
void watch_begin(struct region *region, struct watch *watch);
void watch_end(struct region *region, const struct watch *watch, bool is_over);
void region_turn(struct region *region);
static inline void region_unlock(struct region *region) {
    pthread_mutex_unlock(&region->mutex);
    if (!__libc_single_threaded)
        region_turn(region);
}

/*
 * The calling thread has made all stores that it has announced, and is outside from now on. `thread_rests` is for calls
 * that are frequent and seldom wait: it acts only if a commit has held a log since the thread last rested.
 * `thread_waits` is for calls that may wait long: it acts only if there are other threads.
 */
void thread_leaves(void);
void thread_rests(void);
void thread_waits(void);

/* True if a signal handler that the calling thread runs has interrupted an announcement, a commit or another call of
 * the thread for this file, and other threads may be waiting for it. */
bool thread_is_at_work(const struct region *region);
bool mutex_is_own(const pthread_mutex_t *mutex); /* the calling thread holds it */

/* The commit has taken the log: later changes belong to the next epoch. */
void log_epoch_end(struct thread_log *thread);

void thread_logs_free(struct region *region);
void relisted_free(struct thread_log *thread);
void thread_logs_inherit(void); /* called by a forked child */

#define for_each_thread(thread, region)                                                                                \
    for (struct thread_log *thread = atomic_load(&(region)->threads); thread; thread = thread->next)

/*
 * Do a part of a commit, once for each log; all of the work is done on return. Threads that wait for this commit do it
 * for their own logs side by side, and fence their writes. The caller does it for the other logs, and has yet to fence
 * these writes. Returns 0 or the first status that is not 0.
 */
int group_each_log(struct region *region, log_work *work); /* core/group.c: if such threads wait */
static inline int region_each_log(struct region *region, log_work *work) {
    if (region->group.any)
        return group_each_log(region, work);
    int status = 0;
    for_each_thread (thread, region) {
        int done = work(thread);
        status = status < 0 ? status : done;
    }
    return status;
}

#endif
