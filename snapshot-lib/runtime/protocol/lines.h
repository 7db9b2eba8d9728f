/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of 64 bytes: the working copy's, the file's, and whether one was changed. */
#ifndef SNAPSHOT_LINES_H
#define SNAPSHOT_LINES_H

#include "log/thread_log.h"

/* State of a line of the working copy within the epoch. Busy: a thread is about to make it dirty. */
enum line_state { LINE_CLEAN = 0, LINE_BUSY = 1, LINE_DIRTY = 2 };

/* Lines that are logged by their first store in an epoch. `first` NULL: marking them is all. */
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

#endif
