/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "frames.h"

#include "../base/mem_hash.h"

void mem_frames_init(MemFrames *f, uint64_t seed) {
    f->permuted = seed != 0;
    for (unsigned round = 0; round < MEM_FRAME_ROUNDS; round++) {
        f->keys[round] = mem_hash_mix(seed * MEM_FRAME_ROUNDS + round);
    }
}
