/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "space.h"

enum { WORD_BITS = 64 };

uint64_t map_words(uint64_t count) { return (count + WORD_BITS - 1) / WORD_BITS; }

void map_init(struct tbfs_map *map, uint64_t *words, uint64_t count) {
    *map = (struct tbfs_map){.words = words, .count = count, .free = count};
    memset(words, 0, map_words(count) * sizeof(*words));
    if (count % WORD_BITS)
        words[count / WORD_BITS] = ~UINT64_C(0) << count % WORD_BITS;
}

static uint64_t bit_of(uint64_t number) { return UINT64_C(1) << number % WORD_BITS; }

bool map_has(const struct tbfs_map *map, uint64_t number) { return map->words[number / WORD_BITS] & bit_of(number); }

bool map_mark(struct tbfs_map *map, uint64_t number) {
    if (map_has(map, number))
        return false;
    map->words[number / WORD_BITS] |= bit_of(number);
    map->free--;
    return true;
}

/* From where the last one was found, around. */
bool map_take(struct tbfs_map *map, uint64_t *number) {
    uint64_t words = map_words(map->count);
    for (uint64_t i = 0; map->free && i < words; i++) {
        uint64_t word = (map->hint + i) % words;
        if (map->words[word] == ~UINT64_C(0))
            continue;
        map->hint = word;
        *number = word * WORD_BITS + (uint64_t)__builtin_ctzll(~map->words[word]);
        return map_mark(map, *number);
    }
    return false;
}

void map_release(struct tbfs_map *map, uint64_t number) {
    if (!map_has(map, number))
        return;
    map->words[number / WORD_BITS] &= ~bit_of(number);
    map->free++;
}
