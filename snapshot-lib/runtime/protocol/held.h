/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines that are committed while threads may be storing to them. The commit copies the content of such a line once and
 * uses the copy throughout, including the next epoch's undo log. In a copy, each aligned 8-byte word has a value that
 * some store left.
 */
#ifndef SNAPSHOT_HELD_H
#define SNAPSHOT_HELD_H

#include <emmintrin.h>

#include "log/thread_log.h"

/* Threads may store to either side during the copy. ThreadSanitizer ignores it: the program's stores are not atomic. */
static inline __attribute__((no_sanitize("thread"))) void line_copy(void *to, const void *from) {
    __m128i *target = to;
    const __m128i *source = from;
    for (size_t i = 0; i < LINE_BYTES / sizeof(__m128i); i++)
        _mm_store_si128(target + i, _mm_load_si128(source + i));
}

/* Copy the line and add it to the held lines. Return false if it is already held. */
bool held_add(struct region *region, uint64_t line);
void held_clear(struct region *region);
void held_free(struct region *region);

static inline size_t held_count(const struct region *region) { return region->held.lines.count; }

/* The copy of a held line. NULL: the line is not held; no thread stores to it, and the working copy has its content. */
static inline const uint8_t *held_content(const struct region *region, uint64_t line) {
    uint32_t place = region->held.place ? region->held.place[line] : 0;
    return place ? (const uint8_t *)region->held.contents.items + (place - 1ull) * LINE_BYTES : NULL;
}

/* Iterate over the held lines, each exactly once. */
#define for_each_held(line, region) for_each_word (line, &(region)->held.lines)

#endif
