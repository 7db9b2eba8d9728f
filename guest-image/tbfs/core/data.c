/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "data.h"

#include "persist.h"
#include "seeded_bug.h"
#include "space.h"
#include "tree.h"

/* Whole words go past the caches; what is before and behind them does not, and is flushed. */
static uint64_t bytes_before_words(const void *target, uint64_t bytes) {
    uint64_t before = -(uintptr_t)target % sizeof(uint64_t);
    return before < bytes ? before : bytes;
}

static void copy_edge(uint8_t *target, const void *source, uint64_t bytes) {
    if (bytes == 0)
        return;
    pm_copy(target, source, bytes);
    pm_flush(target, bytes);
}

void data_copy(void *target, const void *source, uint64_t bytes) {
    uint64_t before = bytes_before_words(target, bytes), words = (bytes - before) / 8 * 8;
    uint8_t *to = target;
    const uint8_t *from = source;
    copy_edge(to, from, before);
    if (words)
        pm_copy_nt(to + before, from + before, words);
    if (TBFS_BUG(TAIL_UNFLUSHED) && bytes > before + words)
        pm_copy(to + before + words, from + before + words, bytes - before - words);
    else
        copy_edge(to + before + words, from + before + words, bytes - before - words);
}

void data_zero_bytes(void *target, uint64_t bytes) {
    static const uint64_t zero;
    uint64_t before = bytes_before_words(target, bytes), words = (bytes - before) / 8 * 8;
    uint8_t *to = target;
    copy_edge(to, &zero, before);
    if (words)
        pm_zero_nt(to + before, words);
    copy_edge(to + before + words, &zero, bytes - before - words);
}

void data_zero(struct tbfs *fs, const struct tbfs_inode *inode, uint64_t begin, uint64_t end) {
    uint64_t index_end = (end + TBFS_BLOCK_BYTES - 1) / TBFS_BLOCK_BYTES;
    if (TBFS_BUG(GAP_NOT_ZEROED))
        return;
    for (uint64_t index = tree_next(fs, inode, begin / TBFS_BLOCK_BYTES, index_end); index < index_end;
         index = tree_next(fs, inode, index + 1, index_end)) {
        uint64_t start = index * TBFS_BLOCK_BYTES, first = begin > start ? begin - start : 0;
        uint64_t last = end - start < TBFS_BLOCK_BYTES ? end - start : TBFS_BLOCK_BYTES;
        data_zero_bytes(space_at(fs, tree_get(fs, inode, index) + first), last - first);
    }
}

int data_new_block(struct tbfs *fs, struct tbfs_inode *inode, uint64_t index, uint64_t at, uint64_t bytes,
                   uint64_t *block) {
    uint64_t old = tree_get(fs, inode, index), end = at + bytes;
    *block = tx_take_block(fs);
    if (!*block)
        return -ENOSPC;
    uint8_t *target = space_at(fs, *block);
    if (old) {
        data_copy(target, space_at(fs, old), at);
        data_copy(target + end, (uint8_t *)space_at(fs, old) + end, TBFS_BLOCK_BYTES - end);
    } else {
        data_zero_bytes(target, at);
        data_zero_bytes(target + end, TBFS_BLOCK_BYTES - end);
    }
    tx_new_bytes(fs);
    tx_give_block(fs, old);
    return tree_put(fs, inode, index, *block);
}
