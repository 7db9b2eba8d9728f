/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mem_alloc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *checked(void *items, size_t count, size_t item_bytes) {
    if (!items) {
        fprintf(stderr, "memsys: out of memory for %zu items of %zu bytes\n", count, item_bytes);
        abort();
    }
    return items;
}

void *mem_calloc(size_t count, size_t item_bytes) { return checked(calloc(count, item_bytes), count, item_bytes); }

void *mem_regrow(void *items, size_t count, size_t item_bytes) {
    if (count > SIZE_MAX / item_bytes) {
        return checked(NULL, count, item_bytes);
    }
    return checked(realloc(items, count * item_bytes), count, item_bytes);
}

void *mem_aligned_alloc(size_t alignment, size_t bytes) {
    return checked(aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1)), 1, bytes);
}
