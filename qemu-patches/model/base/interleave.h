/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interleaving: the pieces of a range go to several devices in turn. Each device
 * stores every `ways`-th piece, one behind the other, as its part of the range.
 */
#ifndef MODEL_INTERLEAVE_H
#define MODEL_INTERLEAVE_H

#include <stdint.h>

/* A byte in one device's part. */
typedef struct MemInterleaved {
    uint32_t way; /* position of the device in the turn, from 0 */
    uint64_t offset_bytes;
} MemInterleaved;

/* The place of a byte of the range. With one way the part is the whole range, and the granularity is unused. */
static inline MemInterleaved mem_interleave(uint64_t offset_bytes, uint32_t ways, uint32_t granularity_bytes) {
    MemInterleaved place = {.way = 0, .offset_bytes = offset_bytes};

    if (ways != 1) {
        uint64_t piece = offset_bytes / granularity_bytes;
        place.way = (uint32_t)(piece % ways);
        place.offset_bytes = piece / ways * granularity_bytes + offset_bytes % granularity_bytes;
    }
    return place;
}

/* The byte of the range at this place: the inverse of mem_interleave(). */
static inline uint64_t mem_deinterleave(MemInterleaved place, uint32_t ways, uint32_t granularity_bytes) {
    if (ways == 1) {
        return place.offset_bytes;
    }
    uint64_t piece = place.offset_bytes / granularity_bytes * ways + place.way;
    return piece * granularity_bytes + place.offset_bytes % granularity_bytes;
}

#endif
