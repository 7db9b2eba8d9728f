/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Multiplicative hashing of page and line numbers into a power-of-two table, and a hash that mixes all their bits. */
#ifndef MODEL_MEM_HASH_H
#define MODEL_MEM_HASH_H

#include <stdint.h>

/* The shift for a table of at least twice `items` buckets; the table has 1 << (64 - shift) buckets. */
static inline unsigned mem_hash_shift(uint64_t items) {
    unsigned shift = 63;
    while ((UINT64_C(1) << (64 - shift)) < 2 * items) {
        shift--;
    }
    return shift;
}

static inline uint64_t mem_hash(uint64_t key, unsigned shift) {
    return (key * UINT64_C(0x9e3779b97f4a7c15)) >> shift; /* 2^64 / golden ratio: spreads runs of numbers evenly */
}

/* A hash that every bit affects, without a pattern in runs of numbers (the finalizer of SplitMix64). */
static inline uint64_t mem_hash_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

#endif
