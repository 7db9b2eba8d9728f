/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the live bytes of a device's persistent part are. An interleaved region
 * is one range of RAM to the CPU, so what a device has in it is every `ways`-th
 * granule of that range; what it has beside it is where it would be without.
 */
#ifndef MODEL_MEDIA_H
#define MODEL_MEDIA_H

#include "../base/interleave.h"

typedef struct MemMedia {
    uint8_t *base; /* of the whole; NULL: none; durability is not tracked then */
    /* Of it, this part is in a region of several devices. */
    uint64_t interleaved_first; /* offset and size: multiples of the granularity */
    uint64_t interleaved_bytes;
    uint8_t *interleaved_base;  /* of the region */
    uint32_t ways;              /* devices in it; up to 1: there is none */
    uint32_t position;          /* of this device in it, from 0 */
    uint32_t granularity_bytes; /* a multiple of the line size */
} MemMedia;

/* The live byte at this offset of the persistent part. A line is contiguous, since granules are whole lines. */
static inline uint8_t *mem_media_at(const MemMedia *m, uint64_t offset_bytes) {
    uint64_t within = offset_bytes - m->interleaved_first;
    if (m->ways <= 1 || within >= m->interleaved_bytes) {
        return m->base + offset_bytes;
    }
    MemInterleaved place = {.way = m->position, .offset_bytes = within};
    return m->interleaved_base + mem_deinterleave(place, m->ways, m->granularity_bytes);
}

#endif
