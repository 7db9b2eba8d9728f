/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "space.h"

#include "invariant.h"
#include "journal.h"

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

/* Searches from the word of the last result on, and wraps around. */
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

void space_release_block(struct tbfs *fs, uint64_t offset) {
    journal_yield(fs, offset, TBFS_BLOCK_BYTES);
    map_release(&fs->blocks, offset / TBFS_BLOCK_BYTES);
}

static bool group_is_free(const struct tbfs_map *map, uint64_t first) {
    const uint64_t *words = &map->words[first / WORD_BITS];
    for (unsigned i = 0; i < SPACE_GROUP_BLOCKS / WORD_BITS; i++)
        if (words[i])
            return false;
    return true;
}

uint64_t space_find_group(const struct tbfs *fs) {
    const struct tbfs_map *map = &fs->blocks;
    uint64_t first = map->free < SPACE_GROUP_BLOCKS ? 0 : map->count / SPACE_GROUP_BLOCKS * SPACE_GROUP_BLOCKS;
    while (first) {
        first -= SPACE_GROUP_BLOCKS;
        if (group_is_free(map, first))
            return first;
    }
    return 0;
}

/* ---- Blocks of logs: a byte of the map is a divided block, a bit is a piece of it that is in use ---- */

enum { PIECE_BYTES = TBFS_LOG_BLOCK_BYTES_MIN, PIECES = TBFS_BLOCK_BYTES / PIECE_BYTES };

uint64_t space_piece_words(uint64_t blocks) { return (blocks * PIECES + WORD_BITS - 1) / WORD_BITS; }

static uint64_t pieces_mask(uint64_t offset, uint64_t bytes) {
    return ((UINT64_C(1) << bytes / PIECE_BYTES) - 1) << offset / PIECE_BYTES % WORD_BITS;
}

static uint64_t *pieces_word(const struct tbfs *fs, uint64_t offset) {
    return &fs->pieces[offset / PIECE_BYTES / WORD_BITS];
}

static uint64_t block_mask(uint64_t offset) {
    return pieces_mask(offset / TBFS_BLOCK_BYTES * TBFS_BLOCK_BYTES, TBFS_BLOCK_BYTES);
}

static void use_pieces(struct tbfs *fs, uint64_t offset, uint64_t bytes) {
    uint64_t *word = pieces_word(fs, offset);
    if (!(*word & block_mask(offset)))
        fs->pieces_free += PIECES;
    fs->pieces_free -= bytes / PIECE_BYTES;
    fs->pieces_used += bytes / PIECE_BYTES;
    *word |= pieces_mask(offset, bytes);
}

/* Searches one word of the map for free pieces of a divided block. */
static bool find_in_word(const struct tbfs *fs, uint64_t word, uint64_t bytes, uint64_t *offset) {
    uint64_t begin = word * WORD_BITS * PIECE_BYTES;
    if (fs->pieces[word] == 0)
        return false;
    for (uint64_t at = begin; at < begin + WORD_BITS * PIECE_BYTES; at += bytes) {
        *offset = at;
        if (fs->pieces[word] & block_mask(at) && !(fs->pieces[word] & pieces_mask(at, bytes)))
            return true;
    }
    return false;
}

static bool find_in_parted_block(struct tbfs *fs, uint64_t bytes, uint64_t *offset) {
    uint64_t words = space_piece_words(fs->blocks.count);
    for (uint64_t i = 0; fs->pieces_free >= bytes / PIECE_BYTES && i < words; i++) {
        uint64_t word = (fs->piece_hint + i) % words;
        if (!find_in_word(fs, word, bytes, offset))
            continue;
        fs->piece_hint = word;
        return true;
    }
    return false;
}

bool space_take_log_block(struct tbfs *fs, uint64_t bytes, uint64_t *offset) {
    uint64_t block;
    if (!find_in_parted_block(fs, bytes, offset)) {
        if (!map_take(&fs->blocks, &block))
            return false;
        *offset = block * TBFS_BLOCK_BYTES;
        fs->piece_hint = block * PIECES / WORD_BITS;
    }
    use_pieces(fs, *offset, bytes);
    return true;
}

bool space_mark_log_block(struct tbfs *fs, uint64_t offset, uint64_t bytes) {
    uint64_t word = *pieces_word(fs, offset);
    if (word & pieces_mask(offset, bytes))
        return false;
    if (!(word & block_mask(offset)) && !map_mark(&fs->blocks, offset / TBFS_BLOCK_BYTES))
        return false;
    use_pieces(fs, offset, bytes);
    return true;
}

void space_release_log_block(struct tbfs *fs, uint64_t offset, uint64_t bytes) {
    uint64_t *word = pieces_word(fs, offset);
    if (!invariant_holds(fs, *word & pieces_mask(offset, bytes), "a log's block is freed again, at", offset))
        return;
    journal_yield(fs, offset, bytes);
    *word &= ~pieces_mask(offset, bytes);
    fs->pieces_free += bytes / PIECE_BYTES;
    fs->pieces_used -= bytes / PIECE_BYTES;
    if (*word & block_mask(offset))
        return;
    fs->pieces_free -= PIECES;
    map_release(&fs->blocks, offset / TBFS_BLOCK_BYTES);
}
