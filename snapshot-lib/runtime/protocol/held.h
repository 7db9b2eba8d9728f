/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines that are committed while threads may be storing to them. Their content is copied once, and everything that a
 * commit does with it, the next epoch's undo log included, takes the copy. A copy has each aligned word of 8 bytes as
 * some store left it.
 */
#ifndef SNAPSHOT_HELD_H
#define SNAPSHOT_HELD_H

#include <emmintrin.h>

#include "log/thread_log.h"

/* Both sides may be stored to meanwhile. ThreadSanitizer is not asked: the program's stores are ordinary ones. */
static inline __attribute__((no_sanitize("thread"))) void line_copy(void *to, const void *from) {
    __m128i *target = to;
    const __m128i *source = from;
    for (size_t i = 0; i < LINE_BYTES / sizeof(__m128i); i++)
        _mm_store_si128(target + i, _mm_load_si128(source + i));
}

/* False if it is there already. */
bool held_add(struct region *region, uint64_t line);
void held_clear(struct region *region);
void held_free(struct region *region);

static inline size_t held_count(const struct region *region) { return region->held.lines.count; }

/* NULL: nobody stores to the line, the working copy has its content. */
static inline const uint8_t *held_content(const struct region *region, uint64_t line) {
    uint32_t place = region->held.place ? region->held.place[line] : 0;
    return place ? (const uint8_t *)region->held.contents.items + (place - 1ull) * LINE_BYTES : NULL;
}

/* Each once. */
#define for_each_held(line, region) for_each_word (line, &(region)->held.lines)

#endif
