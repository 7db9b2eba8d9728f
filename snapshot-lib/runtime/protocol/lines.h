/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of 64 bytes: the working copy's, the file's, and whether one was changed. */
#ifndef SNAPSHOT_LINES_H
#define SNAPSHOT_LINES_H

#include <string.h>

#include "base/seeded_bug.h"
#include "base/tracker.h"
#include "held.h"
#include "log/persist.h"
#include "log/thread_log.h"

/* Lines that are logged by their first store in an epoch. `first` NULL: marking them is all. */
typedef void line_first(struct thread_log *thread, uint32_t line);
void lines_mark(struct thread_log *thread, uint64_t offset, uint64_t bytes, line_first *first);

/*
 * Before a commit: the lines of held logs are copied, and of the others' lists each line is left in one, and in none if
 * it is held. Their number. Then either the commit fails, and the lists that are there stay; or it does not, and the
 * logs that are not held are emptied.
 */
uint64_t lines_gather(struct region *region);
void lines_keep(struct region *region);
void lines_reset(struct region *region);

/* The two parts of lines_reset(), of a log and of all that are held: lines that it lists are clean, but stay in its
 * list; then lines of held logs are listed. */
void list_clean(struct thread_log *thread);
void lines_hold(struct region *region);

/* Held logs list no line from this one on any more. */
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

/* Of a held line, what is committed of it. */
static inline const uint8_t *line_held(const struct region *region, uint64_t line) {
    return SEEDED_BUG(HELD_FROM_WORKING_COPY) ? line_working(region, line) : held_content(region, line);
}

/* Of a line that no held log lists. Where a tracker finds stores afterwards, they may be going on: the page counts as
 * changed again then. */
static inline void line_take(const struct region *region, uint64_t line, void *to) {
    if (tracker_sees_own_stores(region))
        line_copy(to, line_working(region, line));
    else
        memcpy(to, line_working(region, line), LINE_BYTES);
}

/* To the file, not fenced: the content is aligned. */
static inline void line_write(const struct region *region, uint64_t line, const uint8_t *content) {
    persist_copy(line_backing(region, line), content, LINE_BYTES);
}

/* From the file: back to the last commit. */
static inline void line_restore(const struct region *region, uint64_t line) {
    line_copy(line_working(region, line), line_backing(region, line));
}

#endif
