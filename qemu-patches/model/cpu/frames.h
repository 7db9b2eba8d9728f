/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The places of page frames in the physically indexed caches. A guest that boots in the same way gets the same frames
 * from its kernel, so its sets of L2 and LLC collide in one of many possible ways. A seed selects another way: a
 * permutation of the 4 KiB frames within each aligned GiB, different for each GiB.
 *
 * Only L2 and LLC look up the resulting number. Memory, devices and persistence see the line itself.
 */
#ifndef MODEL_FRAMES_H
#define MODEL_FRAMES_H

#include "../config/cpu.h"

#define MEM_FRAME_ROUNDS 4u
#define MEM_FRAME_SHIFT 6u     /* log2 of the lines of a frame */
#define MEM_FRAME_HALF_BITS 9u /* a GiB has 2^18 frames; the number of a frame is two halves */
#define MEM_FRAMES_GIB_SHIFT (MEM_FRAME_SHIFT + 2 * MEM_FRAME_HALF_BITS) /* log2 of the lines of a GiB */

typedef struct MemFrames {
    uint64_t keys[MEM_FRAME_ROUNDS];
    bool permuted; /* false with seed 0: each frame keeps its number */
} MemFrames;

void mem_frames_init(MemFrames *f, uint64_t seed);

/* One round of a Feistel network between the halves. The rounds in reverse order invert it, whatever this returns. */
static inline uint64_t mem_frame_step(const MemFrames *f, unsigned round, uint64_t gib, uint64_t half) {
    uint64_t x = (half ^ gib << MEM_FRAME_HALF_BITS ^ f->keys[round]) * UINT64_C(0x9e3779b97f4a7c15);
    return (x ^ x >> 32) * UINT64_C(0xbf58476d1ce4e5b9) >> (64 - MEM_FRAME_HALF_BITS);
}

static inline uint64_t mem_frames_join(uint64_t line, uint64_t high, uint64_t low) {
    const uint64_t within = (UINT64_C(1) << MEM_FRAME_SHIFT) - 1;
    uint64_t frame = high << MEM_FRAME_HALF_BITS | low;
    return line >> MEM_FRAMES_GIB_SHIFT << MEM_FRAMES_GIB_SHIFT | frame << MEM_FRAME_SHIFT | (line & within);
}

/* The number by which L2 and LLC look up a line. */
static inline uint64_t mem_frames_seen(const MemFrames *f, uint64_t line) {
    const uint64_t mask = (UINT64_C(1) << MEM_FRAME_HALF_BITS) - 1;
    uint64_t gib = line >> MEM_FRAMES_GIB_SHIFT;
    uint64_t high = line >> (MEM_FRAME_SHIFT + MEM_FRAME_HALF_BITS) & mask;
    uint64_t low = line >> MEM_FRAME_SHIFT & mask;

    if (!f->permuted) {
        return line;
    }
    for (unsigned round = 0; round < MEM_FRAME_ROUNDS; round++) {
        uint64_t next = high ^ mem_frame_step(f, round, gib, low);
        high = low;
        low = next;
    }
    return mem_frames_join(line, high, low);
}

/* The line that L2 and LLC look up by this number. */
static inline uint64_t mem_frames_line(const MemFrames *f, uint64_t seen) {
    const uint64_t mask = (UINT64_C(1) << MEM_FRAME_HALF_BITS) - 1;
    uint64_t gib = seen >> MEM_FRAMES_GIB_SHIFT;
    uint64_t high = seen >> (MEM_FRAME_SHIFT + MEM_FRAME_HALF_BITS) & mask;
    uint64_t low = seen >> MEM_FRAME_SHIFT & mask;

    if (!f->permuted) {
        return seen;
    }
    for (unsigned round = MEM_FRAME_ROUNDS; round-- > 0;) {
        uint64_t before = low ^ mem_frame_step(f, round, gib, high);
        low = high;
        high = before;
    }
    return mem_frames_join(seen, high, low);
}

#endif
