/* SPDX-License-Identifier: BSD-3-Clause */
/* For protocols that log a 64-byte line at its first store in an epoch: the line states, and each thread's list of
 * lines. */
#include "lines.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>

#include "base/arena.h"

/* Return true to the one thread that must log the line. Other threads wait until it is logged and get false. */
static bool line_claim(_Atomic uint8_t *state) {
    uint8_t seen = LINE_CLEAN;
    if (__libc_single_threaded)
        return atomic_load_explicit(state, memory_order_relaxed) == LINE_CLEAN;
    if (atomic_compare_exchange_strong(state, &seen, LINE_BUSY))
        return true;
    for (unsigned spin = 0; atomic_load_explicit(state, memory_order_acquire) == LINE_BUSY; spin++)
        relax_or_yield(spin);
    return false;
}

static void *relisted_map(struct thread_log *thread) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    thread->relisted_bytes = thread->region->span_bytes / LINE_BYTES / 8;
    void *memory = kernel_mmap(NULL, thread->relisted_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}

/* Return true at the first call for this line: threads that store to a line in turn list it at most once more each. */
static bool relist(struct thread_log *thread, uint32_t line) {
    if (!thread->relisted)
        thread->relisted = relisted_map(thread);
    uint8_t *bits = &thread->relisted[line / 8], bit = (uint8_t)(1u << line % 8);
    bool is_new = !(*bits & bit);
    *bits |= bit;
    return is_new;
}

static void relisted_clear(struct thread_log *thread, uint64_t line) {
    if (thread->relisted)
        thread->relisted[line / 8] &= (uint8_t)~(1u << line % 8);
}

static void list(struct thread_log *thread, uint32_t line) {
    vector_push_word(&thread->changes, line);
    thread->change_count++;
}

/* List a line that another log already lists. Both logs need it, because a commit may hold either log without the
 * other. */
static __attribute__((noinline)) void line_list_again(struct thread_log *thread, uint32_t line) {
    struct region *region = thread->region;
    if (relist(thread, line))
        list(thread, line);
    if (!atomic_load_explicit(&region->lists_overlap, memory_order_relaxed))
        atomic_store_explicit(&region->lists_overlap, true, memory_order_relaxed);
    atomic_store_explicit(&region->line_states[line], thread->mark, memory_order_release);
}

static __attribute__((noinline)) void line_mark(struct thread_log *thread, uint32_t line, line_first *first) {
    _Atomic uint8_t *state = &thread->region->line_states[line];
    if (!line_claim(state)) {
        line_list_again(thread, line);
        return;
    }
    list(thread, line);
    if (first)
        first(thread, line);
    atomic_store_explicit(state, thread->mark, memory_order_release);
}

void lines_mark(struct thread_log *thread, uint64_t offset, uint64_t bytes, line_first *first) {
    const _Atomic uint8_t *states = thread->region->line_states;
    for (uint64_t line = offset / LINE_BYTES; line <= (offset + bytes - 1) / LINE_BYTES; line++)
        if (atomic_load_explicit(&states[line], memory_order_acquire) != thread->tag)
            line_mark(thread, (uint32_t)line, first);
}

static void list_hold(struct region *region, const struct thread_log *thread) {
    for_each_word (line, &thread->changes)
        (void)held_add(region, line);
}

static void list_thin(struct region *region, struct thread_log *thread) {
    uint64_t *lines = thread->changes.items;
    size_t kept = 0;
    for_each_word (line, &thread->changes) {
        bool is_seen = atomic_load_explicit(&region->line_states[line], memory_order_relaxed) == LINE_LISTED;
        if (is_seen || (held_count(region) > 0 && held_content(region, line))) {
            relisted_clear(thread, line);
            continue;
        }
        line_set(region, line, LINE_LISTED);
        lines[kept++] = line;
    }
    thread->changes.count = kept;
}

/* Leave each line in one list, or in none if it is held. */
static void lists_thin(struct region *region) {
    for_each_thread (thread, region)
        if (thread->held)
            list_hold(region, thread);
        else
            for_each_word (line, &thread->changes)
                line_set(region, line, LINE_BUSY); /* here: list_thin() has not seen the line yet */
    for_each_thread (thread, region)
        if (!thread->held)
            list_thin(region, thread);
}

uint64_t lines_gather(struct region *region) {
    if (region->held.any || atomic_load_explicit(&region->lists_overlap, memory_order_relaxed))
        lists_thin(region);
    uint64_t count = held_count(region);
    for_each_thread (thread, region)
        count += thread->held ? 0 : thread->changes.count;
    return count;
}

static void list_tag(struct region *region, const struct thread_log *thread) {
    for_each_word (line, &thread->changes)
        line_set(region, line, thread->mark);
}

void lines_keep(struct region *region) {
    for_each_thread (thread, region)
        list_tag(region, thread);
}

void list_clean(struct thread_log *thread) {
    for_each_word (line, &thread->changes)
        line_set(thread->region, line, LINE_CLEAN);
    if (thread->relisted)
        for_each_word (line, &thread->changes)
            relisted_clear(thread, line);
}

/* Mark the lines of held logs last: other logs list some of the same lines, and clean them. */
void lines_reset(struct region *region) {
    for_each_thread (thread, region) {
        if (thread->held)
            continue;
        list_clean(thread);
        thread->changes.count = 0;
    }
    lines_hold(region);
}

void lines_hold(struct region *region) {
    if (!region->held.any) {
        if (atomic_load_explicit(&region->lists_overlap, memory_order_relaxed))
            atomic_store_explicit(&region->lists_overlap, false, memory_order_relaxed);
        return;
    }
    for_each_thread (thread, region)
        if (thread->held)
            list_tag(region, thread);
}

void lines_cut(struct region *region, uint64_t line_limit) {
    for_each_thread (thread, region) {
        uint64_t *lines = thread->changes.items;
        size_t kept = 0;
        for_each_word (line, &thread->changes)
            if (line < line_limit) {
                lines[kept++] = line;
            } else {
                line_set(region, line, LINE_CLEAN);
                relisted_clear(thread, line);
            }
        thread->changes.count = kept;
    }
}
