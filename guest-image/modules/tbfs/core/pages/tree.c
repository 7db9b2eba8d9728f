/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "tree.h"

#include "../medium/journal.h"
#include "../medium/space.h"
#include "../persist.h"
#include "page.h"

static uint64_t *slots_of(const struct tbfs *fs, uint64_t node) { return space_at(fs, node); }

/* The slot of a node of this level on the path to the block. Level 1 is just above the blocks. */
static unsigned slot_of(uint64_t index, unsigned level) {
    return index >> (TBFS_FANOUT_BITS * (level - 1)) & (TBFS_FANOUT - 1);
}

static uint64_t blocks_below(unsigned level) { return UINT64_C(1) << (TBFS_FANOUT_BITS * level); }

uint64_t tree_get(const struct tbfs *fs, const struct tbfs_inode *inode, uint64_t index) {
    uint64_t block = inode->root;
    if (index >= blocks_below(inode->height))
        return 0;
    for (unsigned level = inode->height; block && level > 0; level--)
        block = tx_load8(fs, &slots_of(fs, block)[slot_of(index, level)]);
    return block;
}

/* The first index behind the empty subtree that contains this index; the index itself if it is mapped. */
static uint64_t behind_hole(const struct tbfs *fs, const struct tbfs_inode *inode, uint64_t index) {
    uint64_t block = inode->root;
    for (unsigned level = inode->height; block && level > 0; level--) {
        block = tx_load8(fs, &slots_of(fs, block)[slot_of(index, level)]);
        if (!block)
            return (index / blocks_below(level - 1) + 1) * blocks_below(level - 1);
    }
    return index;
}

uint64_t tree_next(const struct tbfs *fs, const struct tbfs_inode *inode, uint64_t index, uint64_t end) {
    uint64_t behind = index;
    do {
        index = behind;
        if (!inode->root || index >= blocks_below(inode->height) || index >= end)
            return end;
        behind = behind_hole(fs, inode, index);
    } while (behind != index);
    return index;
}

/* Adds roots above the old one until the tree covers the index. */
static int grow(struct tbfs *fs, struct tbfs_inode *inode, uint64_t index) {
    if (!inode->root)
        inode->height = 0;
    while (index >= blocks_below(inode->height)) {
        if (inode->root) {
            uint64_t node = tx_take_node(fs);
            if (!node)
                return -ENOSPC;
            tx_write8(fs, slots_of(fs, node), inode->root);
            inode->root = node;
            inode->blocks++;
        }
        inode->height++;
    }
    return 0;
}

/* Finds the slot at level 1, and makes missing nodes on the path. Null: the height is 0, and the root is the slot.
 * -ENOSPC: no block is free for a node. */
static int find_slot(struct tbfs *fs, struct tbfs_inode *inode, uint64_t index, uint64_t **slot) {
    uint64_t node = inode->root;
    *slot = NULL;
    for (unsigned level = inode->height; level > 0; level--) {
        if (!node) {
            node = tx_take_node(fs);
            if (!node)
                return -ENOSPC;
            inode->blocks++;
            if (*slot)
                tx_write8(fs, *slot, node);
            else
                inode->root = node;
        }
        *slot = &slots_of(fs, node)[slot_of(index, level)];
        node = tx_load8(fs, *slot);
    }
    return 0;
}

int tree_put(struct tbfs *fs, struct tbfs_inode *inode, uint64_t index, uint64_t slot) {
    uint64_t *place, old = tree_get(fs, inode, index);
    if (old == slot)
        return 0;
    int status = grow(fs, inode, index);
    if (status == 0)
        status = find_slot(fs, inode, index, &place);
    if (status < 0)
        return status;
    if (place)
        tx_write8(fs, place, slot);
    else
        inode->root = slot;
    inode->blocks += (slot != 0) - (old != 0);
    return 0;
}

static int walk(struct tbfs *fs, uint64_t block, unsigned level, tree_visit *visit, void *context) {
    int status = block ? visit(fs, context, block, level == 0) : 0;
    for (unsigned slot = 0; block && level > 0 && slot < TBFS_FANOUT && status == 0; slot++)
        status = walk(fs, slots_of(fs, block)[slot], level - 1, visit, context);
    return status;
}

int tree_walk(struct tbfs *fs, const struct tbfs_inode *inode, tree_visit *visit, void *context) {
    return walk(fs, inode->root, inode->height, visit, context);
}

static int count(struct tbfs *fs, void *context, uint64_t place, bool is_slot) {
    (void)fs;
    (void)place;
    (void)is_slot;
    ++*(uint64_t *)context;
    return 0;
}

uint64_t tree_count(struct tbfs *fs, const struct tbfs_inode *inode) {
    uint64_t sum = 0;
    tree_walk(fs, inode, count, &sum);
    return sum;
}

static int release(struct tbfs *fs, void *context, uint64_t place, bool is_slot) {
    (void)context;
    if (is_slot)
        page_release(fs, place);
    else
        space_release_block(fs, place);
    return 0;
}

void tree_release(struct tbfs *fs, const struct tbfs_inode *inode) { tree_walk(fs, inode, release, NULL); }

/* Called before a pointer is cleared in place, so that recovery does not store it again. */
static bool yield_word(struct tbfs *fs, const uint64_t *word) {
    return journal_yield(fs, space_offset(fs, word), sizeof(*word));
}

/* True: nothing of the subtree is left. Freed blocks are not taken before the caller's fence. */
static bool cut(struct tbfs *fs, uint64_t node, unsigned level, uint64_t first) {
    if (first == 0) {
        walk(fs, node, level, release, NULL);
        return true;
    }
    if (level == 0)
        return false;
    uint64_t *slots = slots_of(fs, node), below = blocks_below(level - 1);
    for (unsigned slot = slot_of(first, level); slot < TBFS_FANOUT; slot++) {
        uint64_t before = slot * below;
        if (slots[slot] && cut(fs, slots[slot], level - 1, first > before ? first - before : 0)) {
            if (!yield_word(fs, &slots[slot]))
                return false;
            pm_store8(&slots[slot], 0);
            pm_flush(&slots[slot], sizeof(slots[slot]));
        }
    }
    return false;
}

void tree_cut(struct tbfs *fs, struct tbfs_inode *inode, uint64_t first) {
    if (inode->root && first < blocks_below(inode->height) && cut(fs, inode->root, inode->height, first) &&
        yield_word(fs, &inode->root)) {
        pm_store8(&inode->root, 0);
        pm_flush(&inode->root, sizeof(inode->root));
    }
}
