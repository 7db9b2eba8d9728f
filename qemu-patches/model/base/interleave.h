/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interleaving: pieces of a range go to several devices in turn. A device has
 * every `ways`-th piece, one behind the other, as its part of the range.
 */
#ifndef MODEL_INTERLEAVE_H
#define MODEL_INTERLEAVE_H

#include <stdint.h>

/* A byte of one device's part. */
typedef struct MemInterleaved {
    uint32_t way; /* whose turn it is, from 0 */
    uint64_t offset_bytes;
} MemInterleaved;

/* Where a byte of the range is. With one way the part is the range, and the granularity unused. */
static inline MemInterleaved mem_interleave(uint64_t offset_bytes, uint32_t ways, uint32_t granularity_bytes) {
    MemInterleaved place = {.way = 0, .offset_bytes = offset_bytes};

    if (ways != 1) {
        uint64_t piece = offset_bytes / granularity_bytes;
        place.way = (uint32_t)(piece % ways);
        place.offset_bytes = piece / ways * granularity_bytes + offset_bytes % granularity_bytes;
    }
    return place;
}

/* The byte of the range that is there. */
static inline uint64_t mem_deinterleave(MemInterleaved place, uint32_t ways, uint32_t granularity_bytes) {
    if (ways == 1) {
        return place.offset_bytes;
    }
    uint64_t piece = place.offset_bytes / granularity_bytes * ways + place.way;
    return piece * granularity_bytes + place.offset_bytes % granularity_bytes;
}

#endif
