/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which flash pages cannot be read back. A page is lost as it is programmed, or
 * is not: how often it is read, and when, has no say in it. So the answer is a
 * function of the place, of the erases that its block had and of a seed, and
 * nothing of it has to be kept.
 */
#ifndef MODEL_READ_ERRORS_H
#define MODEL_READ_ERRORS_H

#include "../base/mem_hash.h"
#include "../config/device.h"

#define MEM_READ_ERRORS_OF UINT64_C(1000000000000)

typedef struct MemReadErrors {
    uint64_t at_rated_wear; /* pages in MEM_READ_ERRORS_OF; 0: each can be read */
    uint64_t seed;
    uint32_t rated_cycles;
    uint32_t worn_cycles; /* before the first use */
} MemReadErrors;

static inline MemReadErrors mem_read_errors_of(const MemDeviceConfig *c) {
    return (MemReadErrors){
        .at_rated_wear = c->flash_read_errors,
        .seed = c->flash_read_errors_seed,
        .rated_cycles = c->flash_endurance_cycles,
        .worn_cycles = c->flash_worn_cycles,
    };
}

/* Whether what was programmed into this physical page is gone; its block had been erased so often since the first use.
 */
static inline bool mem_read_fails(const MemReadErrors *e, uint64_t number, uint32_t erases) {
    uint64_t cycles = (uint64_t)e->worn_cycles + erases;

    if (!e->at_rated_wear || !cycles) {
        return false;
    }
    uint64_t draw = mem_hash_mix(mem_hash_mix(mem_hash_mix(e->seed) ^ number) + cycles) >> 32;
    /* draw / 2^32 < at_rated_wear / 10^12 * cycles / rated_cycles */
    return (unsigned __int128)draw * MEM_READ_ERRORS_OF * e->rated_cycles < (unsigned __int128)e->at_rated_wear * cycles
                                                                                << 32;
}

#endif
