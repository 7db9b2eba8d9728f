/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "data.h"

#include "../medium/bytes.h"
#include "../medium/invariant.h"
#include "../medium/space.h"
#include "page.h"
#include "tree.h"

void data_zero(struct tbfs *fs, const struct tbfs_inode *inode, uint64_t begin, uint64_t end) {
    uint64_t index_end = (end + TBFS_BLOCK_BYTES - 1) / TBFS_BLOCK_BYTES;
    for (uint64_t index = tree_next(fs, inode, begin / TBFS_BLOCK_BYTES, index_end); index < index_end;
         index = tree_next(fs, inode, index + 1, index_end)) {
        uint64_t start = index * TBFS_BLOCK_BYTES, first = begin > start ? begin - start : 0;
        uint64_t last = end - start < TBFS_BLOCK_BYTES ? end - start : TBFS_BLOCK_BYTES;
        page_zero(fs, tree_get(fs, inode, index), first, last);
    }
}

static int copy_to_block(void *context, uint64_t at, const void *source, uint64_t bytes) {
    uint8_t *block = context;
    if (source)
        bytes_copy(block + at, source, bytes);
    else
        bytes_zero(block + at, bytes);
    return 0;
}

/*
 * In a file of 2 MiB and more, each range of 2 MiB is contiguous and aligned. A page's block is placed by the position
 * of another block of its range, and the first block opens a group that is wholly free. 0: any block.
 */
static uint64_t wanted_block(const struct tbfs *fs, const struct tbfs_inode *inode, uint64_t index) {
    uint64_t in_group = index % SPACE_GROUP_BLOCKS, first = index - in_group, end = first + SPACE_GROUP_BLOCKS;
    uint64_t size = inode->size > fs->call_end ? inode->size : fs->call_end;
    if (size < (uint64_t)SPACE_GROUP_BLOCKS * TBFS_BLOCK_BYTES)
        return 0;
    uint64_t other = in_group && tree_get(fs, inode, index - 1) ? index - 1 : tree_next(fs, inode, first, end);
    if (other == end) {
        uint64_t group = space_find_group(fs);
        return group ? group + in_group : 0;
    }
    uint64_t group = page_block(fs, tree_get(fs, inode, other)) / TBFS_BLOCK_BYTES - (other - first);
    return group % SPACE_GROUP_BLOCKS ? 0 : group + in_group;
}

int data_new_block(struct tbfs *fs, struct tbfs_inode *inode, uint64_t index, uint64_t at, uint64_t bytes,
                   uint64_t *block) {
    uint64_t old = tree_get(fs, inode, index), end = at + bytes;
    if (!invariant_holds(fs, !old || space_in_use(fs, old), "a file has a free block, at", old))
        return -EUCLEAN;
    *block = tx_take_block(fs, wanted_block(fs, inode, index));
    if (!*block)
        return -ENOSPC;
    struct tbfs_sink sink = {copy_to_block, space_at(fs, *block)};
    page_read(fs, old, (struct page_range){0, at}, &sink, 0);
    page_read(fs, old, (struct page_range){end, TBFS_BLOCK_BYTES}, &sink, end);
    tx_new_bytes(fs);
    tx_give_page(fs, old);
    return tree_put(fs, inode, index, *block);
}
