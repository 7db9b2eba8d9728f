/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A commit protocol: how stores become durable, all or nothing. One file per protocol; what they share is below.
 *
 * The log file says which protocol wrote it, so a file is always recovered by that one; the next may be another.
 */
#ifndef SNAPSHOT_PROTOCOL_H
#define SNAPSHOT_PROTOCOL_H

#include "internal.h"

/* In: what a crash left. Out: which state the file has now. */
struct recovery_job {
    struct log_view log;
    uint8_t *backing;
    uint64_t line_limit; /* lines of the file */
    struct record last;  /* the newest */
    uint64_t epoch;
    uint64_t lines_undone;
    uint64_t lines_replayed;
};

struct protocol {
    const char *name;
    uint32_t id;   /* as in the log file and in the flags of snapshot_map() */
    uint32_t sets; /* of chunks */

    /* Before a store. The range lies in the file. Any thread. */
    void (*log_range)(struct region *region, uint64_t offset, uint64_t bytes);

    /*
     * Everything a commit takes but its last fence: that is region_settle()'s. There are changes, the mutex is held.
     * -ENOSPC, -EUCLEAN the log is damaged: nothing has changed. The caller counts the epoch on.
     */
    int (*commit)(struct region *region, enum commit_mode mode);

    /* After the last fence of a program of one thread, and not waited for. NULL: nothing to do. */
    void (*settled)(struct region *region);

    /* Bring to the file, durably, what is committed and in the log alone. -EUCLEAN: nothing has changed. NULL: nothing
     * is. */
    int (*publish)(struct region *region);

    /* Take the working copy back to the last commit. What was changed stays logged: it is committed again, unchanged.
     * -EUCLEAN: nothing has changed. */
    int (*rollback)(struct region *region);

    /* After a rollback: what was changed need not be committed. */
    void (*forget)(struct region *region);

    /* -EUCLEAN before anything has changed. May be interrupted and repeated; writes nothing but the file. */
    int (*recover)(struct recovery_job *job);
};

extern const struct protocol protocol_line, protocol_undo, protocol_undo_nv, protocol_redo;

/* NULL: there is none. */
const struct protocol *protocol_by_id(uint32_t id);
const struct protocol *protocol_by_name(const char *name);

/* The one asked for by the flags, else by the environment variable SNAPSHOT_PROTOCOL, else the default; or NULL. */
const struct protocol *protocol_choose(unsigned flags);

/* records.c: false: none is valid, or the two are no pair. */
bool record_newest(struct log_view log, struct record *record);
void record_write(struct log_view log, struct record record);

/*
 * Say that the file is the state to start from and no epoch up to `epoch_used` is to be looked at; not fenced. Returns
 * the number of the record: the next epoch has the next number.
 */
uint64_t record_retire(struct log_view log, uint32_t protocol, uint64_t epoch_last, uint64_t epoch_used);

/* The highest epoch that may have left blocks if `epoch` is the last one committed: one declared, one begun. */
static inline uint64_t epoch_used_max(uint64_t epoch) { return epoch + 2; }

/* blocks.c */
void block_seal(struct block *block, uint64_t epoch, uint32_t sequence);
void block_write(uint8_t *place, const struct block *block);

/* The thread's block is full: to the log file, and waited for if another thread may be the one that commits. */
void thread_block_end(struct thread_log *thread);

/* What threads have logged and is not in the log file yet. -ENOSPC: may be repeated. */
int thread_logs_write(struct region *region);
void thread_logs_forget(struct region *region);

/* Every valid block of an epoch, in any order. Returns their lines. */
typedef void block_visitor(void *context, const struct block *block);
uint64_t log_walk(struct log_view log, uint32_t sets, uint64_t epoch, block_visitor *visit, void *context);

/* lines.c: lines that are logged by their first store in an epoch. `first` NULL: marking them is all. */
typedef void line_first(struct thread_log *thread, uint32_t line);
void lines_mark(struct region *region, uint64_t offset, uint64_t bytes, line_first *first);
void lines_reset(struct region *region);

static inline uint8_t *line_working(const struct region *region, uint64_t line) {
    return region->working + line * LINE_BYTES;
}
static inline uint8_t *line_backing(const struct region *region, uint64_t line) {
    return region->backing + line * LINE_BYTES;
}
static inline bool line_is_dirty(const struct region *region, uint64_t line) {
    return atomic_load_explicit(&region->line_states[line], memory_order_relaxed) == LINE_DIRTY;
}
static inline void line_set(const struct region *region, uint64_t line, enum line_state state) {
    atomic_store_explicit(&region->line_states[line], (uint8_t)state, memory_order_relaxed);
}

/* Working copy to file, not fenced. */
void line_write(struct region *region, uint64_t line);

#define for_each_thread(thread, region)                                                                                \
    for (struct thread_log *thread = atomic_load(&(region)->threads); thread; thread = thread->next)

#define for_each_word(word, vector)                                                                                    \
    for (size_t word##_at = 0, word = 0;                                                                               \
         word##_at < (vector)->count && (word = vector_word((vector), word##_at), true); word##_at++)

#endif
