/* SPDX-License-Identifier: BSD-3-Clause */
/* Protocols that log a line of 64 bytes by its first store in an epoch: the marks, and each thread's list of lines. */
#include "lines.h"

#include <sys/single_threaded.h>

#include "log/persist.h"

/* True for the one thread that has to log the line; the others return when it is logged. */
static bool line_claim(_Atomic uint8_t *state) {
    uint8_t seen = LINE_CLEAN;
    if (__libc_single_threaded)
        return true;
    if (atomic_compare_exchange_strong(state, &seen, LINE_BUSY))
        return true;
    while (atomic_load_explicit(state, memory_order_acquire) != LINE_DIRTY)
        __builtin_ia32_pause();
    return false;
}

static __attribute__((noinline)) void line_mark(struct region *region, uint32_t line, line_first *first) {
    _Atomic uint8_t *state = &region->line_states[line];
    if (!line_claim(state))
        return;
    struct thread_log *thread = thread_log_get(region);
    vector_push_word(&thread->changes, line);
    thread->change_count++;
    if (first)
        first(thread, line);
    atomic_store_explicit(state, LINE_DIRTY, memory_order_release);
}

void lines_mark(struct region *region, uint64_t offset, uint64_t bytes, line_first *first) {
    for (uint64_t line = offset / LINE_BYTES; line <= (offset + bytes - 1) / LINE_BYTES; line++)
        if (atomic_load_explicit(&region->line_states[line], memory_order_acquire) != LINE_DIRTY)
            line_mark(region, (uint32_t)line, first);
}

void lines_reset(struct region *region) {
    for_each_thread (thread, region) {
        for_each_word (line, &thread->changes)
            line_set(region, line, LINE_CLEAN);
        thread->changes.count = 0;
    }
}

void line_write(struct region *region, uint64_t line) {
    persist_copy(line_backing(region, line), line_working(region, line), LINE_BYTES);
    region->stats.data_bytes += LINE_BYTES;
}
