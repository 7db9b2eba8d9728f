/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of 64 bytes: access to the working copy and to the file, and the state of each line. */
#ifndef SNAPSHOT_LINES_H
#define SNAPSHOT_LINES_H

#include <string.h>

#include "base/tracker.h"
#include "held.h"
#include "log/persist.h"
#include "log/thread_log.h"

/* Mark the lines of a range. Call `first`, unless NULL, for each line that is stored to for the first time in the
 * epoch. */
typedef void line_first(struct thread_log *thread, uint32_t line);
void lines_mark(struct thread_log *thread, uint64_t offset, uint64_t bytes, line_first *first);

/*
 * lines_gather() runs before a commit. It copies the lines of held logs and thins the other logs' lists, so that each
 * line is left in one list, or in none if it is held; it returns the number of all these lines. If the commit then
 * fails, lines_keep() marks the lines of the remaining lists again. If it succeeds, lines_reset() empties the logs that
 * are not held.
 */
uint64_t lines_gather(struct region *region);
void lines_keep(struct region *region);
void lines_reset(struct region *region);

/* The two parts of lines_reset(). list_clean() marks the lines of one log clean, but leaves them in its list.
 * lines_hold(), called after it, marks the lines of all held logs as listed. */
void list_clean(struct thread_log *thread);
void lines_hold(struct region *region);

/* Remove `line_limit` and all lines behind it from the lists. Right after a commit, only held logs have lists. */
void lines_cut(struct region *region, uint64_t line_limit);

static inline uint8_t *line_working(const struct region *region, uint64_t line) {
    return region->working + line * LINE_BYTES;
}
static inline uint8_t *line_backing(const struct region *region, uint64_t line) {
    return region->backing + line * LINE_BYTES;
}
static inline bool line_is_dirty(const struct region *region, uint64_t line) {
    return atomic_load_explicit(&region->line_states[line], memory_order_relaxed) != LINE_CLEAN;
}
static inline void line_set(const struct region *region, uint64_t line, uint8_t state) {
    atomic_store_explicit(&region->line_states[line], state, memory_order_relaxed);
}

/* Copy a line that no held log lists. If a tracker finds stores afterwards, threads may be storing to the line now; the
 * tracker then reports its page as changed again. */
static inline void line_take(const struct region *region, uint64_t line, void *to) {
    if (tracker_sees_own_stores(region))
        line_copy(to, line_working(region, line));
    else
        memcpy(to, line_working(region, line), LINE_BYTES);
}

/* Write a line to the file, without a fence. `content` is aligned to 64 bytes. */
static inline void line_write(const struct region *region, uint64_t line, const uint8_t *content) {
    persist_copy(line_backing(region, line), content, LINE_BYTES);
}

/* Restore a line of the working copy from the file, to the last commit. */
static inline void line_restore(const struct region *region, uint64_t line) {
    line_copy(line_working(region, line), line_backing(region, line));
}

#endif
