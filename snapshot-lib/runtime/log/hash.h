/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A 64-bit hash that detects torn and stale lines: multiply two words to 128 bits and fold, as wyhash does. It protects
 * against accidents, not against forged logs.
 */
#ifndef SNAPSHOT_HASH_H
#define SNAPSHOT_HASH_H

#include "format.h"

static inline uint64_t hash_mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * The hash of one line. The seed makes equal contents at different places differ. It is spread over 64 bits first: a
 * word that equals the value it is combined with makes a factor zero, and the other factor would have no effect.
 */
static inline uint64_t line_hash(uint64_t place, const uint64_t *words) {
    const uint64_t a = 0xa0761d6478bd642fu, b = 0xe7037ed1a0b428dbu, c = 0x8ebc6af09c88c6e3u, d = 0x589965cc75374cc3u;
    uint64_t seed = hash_mix(place ^ c, d);
    uint64_t low = hash_mix(words[0] ^ a, words[1] ^ seed) ^ hash_mix(words[2] ^ b, words[3] ^ seed);
    uint64_t high = hash_mix(words[4] ^ c, words[5] ^ seed) ^ hash_mix(words[6] ^ d, words[7] ^ seed);
    return hash_mix(low ^ a, high ^ seed ^ b);
}

/* The checksum of a line that stores it in its first word. */
static inline uint64_t self_checksum(const void *line) {
    const uint64_t *words = (const uint64_t *)line;
    uint64_t copy[LINE_BYTES / 8] = {LOG_MAGIC, words[1], words[2], words[3], words[4], words[5], words[6], words[7]};
    return line_hash(1, copy);
}

static inline uint64_t block_checksum(const struct block_header *header, const uint64_t (*data)[LINE_BYTES / 8]) {
    uint64_t sum = self_checksum(header);
    for (uint32_t i = 0; i < header->line_count; i++)
        sum += line_hash(i + 2, data[i]);
    return sum;
}

#endif
