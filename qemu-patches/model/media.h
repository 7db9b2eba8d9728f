/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the live bytes of a device's persistent part are. An interleaved region
 * is one range of RAM to the CPU, so the media of a device in it are every
 * `ways`-th granule of that range.
 */
#ifndef MODEL_MEDIA_H
#define MODEL_MEDIA_H

#include <stdint.h>

typedef struct MemMedia {
    uint8_t *base;              /* NULL: none; durability is not tracked then */
    uint64_t interleaved_bytes; /* of the persistent part, from its start; the rest is at base + its offset */
    uint32_t ways;              /* devices in the interleave set; up to 1: not interleaved */
    uint32_t position;          /* of this device in the set, from 0 */
    uint32_t granularity_bytes; /* a multiple of the line size */
} MemMedia;

/* The live byte at this offset of the persistent part. A line is contiguous, since granules are whole lines. */
static inline uint8_t *mem_media_at(const MemMedia *m, uint64_t offset_bytes) {
    if (m->ways <= 1 || offset_bytes >= m->interleaved_bytes) {
        return m->base + offset_bytes;
    }
    uint64_t granule = offset_bytes / m->granularity_bytes;
    return m->base + (granule * m->ways + m->position) * m->granularity_bytes + offset_bytes % m->granularity_bytes;
}

#endif
