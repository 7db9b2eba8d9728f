/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "merge.h"

#include "../medium/bytes.h"
#include "../pages/data.h"
#include "../pages/page.h"
#include "../pages/tree.h"
#include "inode.h"

/* Bytes that the log does not contain are in the block already. */
static int copy_from_log(void *context, uint64_t at, const void *source, uint64_t bytes) {
    uint8_t *block = context;
    if (source != block + at)
        bytes_copy(block + at, source, bytes);
    return 0;
}

/* Merges a log into the block below it, which needs no free block. Until the slot points to that block, only bytes of
 * it change that readers take from the log. */
static int fold(struct tbfs *fs, uint64_t ino, uint64_t index, uint64_t slot) {
    uint64_t block = log_first(fs, slot)->page;
    struct tbfs_sink sink = {copy_from_log, space_at(fs, block)};
    page_read(fs, slot, (struct page_range){0, TBFS_BLOCK_BYTES}, &sink, 0);
    tx_new_bytes(fs);
    tree_put(fs, tx_inode(fs, ino), index, block);
    int status = tx_commit(fs);
    if (status == 0) {
        log_release(fs, slot);
        fs->counters.merges++;
    }
    return status;
}

int merge_page(struct tbfs *fs, uint64_t ino, uint64_t index) {
    uint64_t block, slot = tree_get(fs, space_inode(fs, ino), index);
    int status = tx_begin(fs);
    if (status == 0)
        status = data_new_block(fs, tx_inode(fs, ino), index, 0, 0, &block);
    if (status == 0) {
        status = tx_commit(fs);
        fs->counters.merges += status == 0;
        return status;
    }
    status = tx_forget(fs, status);
    return status == -ENOSPC && log_first(fs, slot)->page ? fold(fs, ino, index, slot) : status;
}

/* Merging goes on until one transaction can take its maximum of blocks. */
static bool may_get_room(const struct tbfs *fs) {
    return !fs->broken && fs->pieces_used && fs->blocks.free < TBFS_TAKEN_MAX;
}

/* Whether a merge of this log frees space. A log without a block below it needs a block, and so must itself take
 * more. */
static bool gives_room(const struct tbfs *fs, uint64_t slot) {
    return slot_has_log(slot) && (log_first(fs, slot)->page || log_length(fs, slot) > TBFS_BLOCK_BYTES);
}

static void merge_file(struct tbfs *fs, uint64_t ino) {
    const struct tbfs_inode *inode = space_inode(fs, ino);
    uint64_t end = size_in_blocks(TBFS_FILE_BYTES_MAX);
    for (uint64_t index = tree_next(fs, inode, 0, end); index < end && may_get_room(fs);
         index = tree_next(fs, inode, index + 1, end)) {
        uint64_t slot = tree_get(fs, inode, index);
        if (!gives_room(fs, slot))
            continue;
        if (log_first(fs, slot)->page)
            fold(fs, ino, index, slot);
        else
            merge_page(fs, ino, index);
    }
}

bool merge_for_room(struct tbfs *fs, int status) {
    uint64_t before = fs->counters.merges;
    for (uint64_t ino = 1; status == -ENOSPC && ino < fs->super->inode_count && may_get_room(fs); ino++)
        if (S_ISREG(space_inode(fs, ino)->mode))
            merge_file(fs, ino);
    return fs->counters.merges > before;
}

/* ---- In the background ---- */

enum { LOOKS_PER_STEP = 256 }; /* bounds the time for which other calls wait */

static bool is_free(const struct tbfs *fs, unsigned percent) {
    uint64_t blocks = fs->blocks.count - fs->super->data_offset / TBFS_BLOCK_BYTES;
    return fs->blocks.free * 100 >= blocks * percent;
}

bool tbfs_wants_merge(const struct tbfs *fs) {
    const struct tbfs_hybrid *hybrid = &fs->options.hybrid;
    bool has_begun = fs->background.ino;
    return hybrid->gc_low_percent && fs->pieces_used && !fs->read_only && !fs->broken &&
           !is_free(fs, has_begun ? hybrid->gc_high_percent : hybrid->gc_low_percent);
}

/* Finds the next mapped page after the last step, and its slot. False: this many looks found no page, or no page is
 * left. */
static bool find_page(struct tbfs *fs, unsigned *looks, uint64_t *slot) {
    struct tbfs_background *at = &fs->background;
    const uint64_t end = size_in_blocks(TBFS_FILE_BYTES_MAX);
    for (; *looks && at->ino < fs->super->inode_count; at->ino++, at->index = 0) {
        const struct tbfs_inode *inode = space_inode(fs, at->ino);
        --*looks;
        if (!S_ISREG(inode->mode) || (at->index = tree_next(fs, inode, at->index, end)) == end)
            continue;
        *slot = tree_get(fs, inode, at->index++);
        return true;
    }
    return false;
}

/* Begins another pass, for the longest logs that remain. False: no log remains. */
static bool turn(struct tbfs_background *at) {
    uint64_t most = at->most_left_bytes;
    *at = (struct tbfs_background){0};
    if (most) {
        at->ino = TBFS_ROOT_INODE;
        at->least_bytes = UINT64_C(1) << (63 - __builtin_clzll(most));
    }
    return most;
}

bool tbfs_merge_some(struct tbfs *fs) {
    struct tbfs_background *at = &fs->background;
    unsigned looks = LOOKS_PER_STEP;
    uint64_t slot;
    if (!tbfs_wants_merge(fs)) {
        *at = (struct tbfs_background){0};
        return false;
    }
    if (!at->ino)
        *at = (struct tbfs_background){.ino = TBFS_ROOT_INODE, .least_bytes = UINT64_MAX};
    while (find_page(fs, &looks, &slot)) {
        uint64_t bytes = gives_room(fs, slot) ? log_length(fs, slot) : 0;
        if (bytes >= at->least_bytes && bytes) {
            merge_page(fs, at->ino, at->index - 1);
            return true;
        }
        if (bytes > at->most_left_bytes)
            at->most_left_bytes = bytes;
    }
    return at->ino < fs->super->inode_count || turn(at);
}
