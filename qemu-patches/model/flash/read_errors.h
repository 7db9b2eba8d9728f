/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which flash pages cannot be read back. A page is lost, or not, when it is
 * programmed: the number and the times of its reads have no influence. So the
 * answer is a function of the place, of the erases of its block and of a seed, and
 * needs no stored state.
 */
#ifndef MODEL_READ_ERRORS_H
#define MODEL_READ_ERRORS_H

#include "../base/mem_hash.h"
#include "../config/device.h"

#define MEM_READ_ERRORS_OF UINT64_C(1000000000000)

typedef struct MemReadErrors {
    uint64_t at_rated_wear; /* unreadable pages in MEM_READ_ERRORS_OF; 0: all pages can be read */
    uint64_t seed;
    uint32_t rated_cycles;
    uint32_t worn_cycles; /* erases before the first use */
} MemReadErrors;

static inline MemReadErrors mem_read_errors_of(const MemDeviceConfig *c) {
    return (MemReadErrors){
        .at_rated_wear = c->flash_read_errors,
        .seed = c->flash_read_errors_seed,
        .rated_cycles = c->flash_endurance_cycles,
        .worn_cycles = c->flash_worn_cycles,
    };
}

/* Whether content programmed into this physical page is lost. `erases` of its block are since the first use. */
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
