/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The location of the live bytes of a device's persistent part. To the CPU, an
 * interleaved region is one range of RAM: the device's share of the region is
 * every `ways`-th granule of that range. The bytes outside the region lie where
 * they would lie without interleaving.
 */
#ifndef MODEL_MEDIA_H
#define MODEL_MEDIA_H

#include "../base/interleave.h"

typedef struct MemMedia {
    uint8_t *base; /* of the whole part; NULL: no media, durability is not tracked */
    /* The range of the persistent part that lies in a region of several devices. */
    uint64_t interleaved_first; /* offset and size: multiples of the granularity */
    uint64_t interleaved_bytes;
    uint8_t *interleaved_base;  /* of the region */
    uint32_t ways;              /* devices in the region; 0 or 1: no region */
    uint32_t position;          /* of this device in the region, from 0 */
    uint32_t granularity_bytes; /* a multiple of the line size */
} MemMedia;

/* The live byte at an offset of the persistent part. A line is contiguous, since granules are whole lines. */
static inline uint8_t *mem_media_at(const MemMedia *m, uint64_t offset_bytes) {
    uint64_t within = offset_bytes - m->interleaved_first;
    if (m->ways <= 1 || within >= m->interleaved_bytes) {
        return m->base + offset_bytes;
    }
    MemInterleaved place = {.way = m->position, .offset_bytes = within};
    return m->interleaved_base + mem_deinterleave(place, m->ways, m->granularity_bytes);
}

#endif
