/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "bytes.h"

#include "../persist.h"

/* Whole words bypass the caches. Bytes before and after them do not, and are flushed. */
static uint64_t bytes_before_words(const void *target, uint64_t bytes) {
    uint64_t before = -(uintptr_t)target % sizeof(uint64_t);
    return before < bytes ? before : bytes;
}

static void copy_edge(uint8_t *target, const void *source, uint64_t bytes) {
    if (bytes == 0)
        return;
    pm_copy(target, source, bytes);
    pm_flush(target, bytes);
}

void bytes_copy(void *target, const void *source, uint64_t bytes) {
    uint64_t before = bytes_before_words(target, bytes), words = (bytes - before) / 8 * 8;
    uint8_t *to = target;
    const uint8_t *from = source;
    copy_edge(to, from, before);
    if (words)
        pm_copy_nt(to + before, from + before, words);
    copy_edge(to + before + words, from + before + words, bytes - before - words);
}

void bytes_zero(void *target, uint64_t bytes) {
    static const uint64_t zero;
    uint64_t before = bytes_before_words(target, bytes), words = (bytes - before) / 8 * 8;
    uint8_t *to = target;
    copy_edge(to, &zero, before);
    if (words)
        pm_zero_nt(to + before, words);
    copy_edge(to + before + words, &zero, bytes - before - words);
}
