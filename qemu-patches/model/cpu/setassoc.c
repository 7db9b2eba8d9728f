/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "setassoc.h"

#include <stdlib.h>
#include <string.h>

#include "../base/mem_alloc.h"

#define HOST_LINE_BYTES 64u

void mem_sets_init(MemSets *a, const MemCacheConfig *config) {
    uint64_t count = config->size_bytes / MEMSYS_LINE_BYTES / config->ways;
    size_t set_bytes = sizeof(MemSet) + (config->ways + 3) / 4 * 4 * sizeof(MemTag);

    *a = (MemSets){
        .count = count,
        .mask = count - 1,
        .magic = UINT64_MAX / count + 1, /* exact for lines below 2^64 / count; unused for powers of two */
        .power_of_two = (count & (count - 1)) == 0,
        .shift = (unsigned)__builtin_ctzll(count),
        .ways = config->ways,
        .order_mask = UINT64_MAX >> (64 - 4 * config->ways),
        .order_top = 4 * (config->ways - 1),
        .set_bytes = set_bytes < HOST_LINE_BYTES ? HOST_LINE_BYTES : set_bytes,
    };
    /* One host line more, because mem_equal_tags() may read past the last set. */
    a->sets = mem_aligned_alloc(HOST_LINE_BYTES, count * a->set_bytes + HOST_LINE_BYTES);
    mem_sets_clear(a);
}

void mem_sets_destroy(MemSets *a) { free(a->sets); }

void mem_sets_clear(MemSets *a) {
    memset(a->sets, 0, a->count * a->set_bytes + HOST_LINE_BYTES);
    for (uint64_t number = 0; number < a->count; number++) {
        MemSet *s = mem_set_at(a, number);
        for (uint32_t way = 0; way < a->ways; way++) {
            s->order = s->order << 4 | way; /* way 0 is filled first */
            s->tags[way] = MEM_NO_TAG;
        }
    }
}

void mem_set_drop(const MemSets *a, MemSet *s, uint32_t way) {
    unsigned shift = mem_order_shift(s->order, way);
    uint64_t newer = (UINT64_C(1) << shift) - 1;

    s->order = (s->order & newer) | (s->order >> 4 & ~newer) | (uint64_t)way << a->order_top;
    s->tags[way] = MEM_NO_TAG;
    s->marks &= ~(MEM_MARKS << way);
}
