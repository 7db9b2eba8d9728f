/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* A file's pages: a radix tree of nodes with 512 pointers. The lowest pointers are slots (format.h). tree_get() and
 * tree_next() see the changes of the open transaction. */
#ifndef TBFS_TREE_H
#define TBFS_TREE_H

#include "../tbfs.h"

/* The slot of this index of the file, 0: a hole. */
uint64_t tree_get(const struct tbfs *fs, const struct tbfs_inode *inode, uint64_t index);

/* The first mapped index from `index` on, at most `end`. */
uint64_t tree_next(const struct tbfs *fs, const struct tbfs_inode *inode, uint64_t index, uint64_t end);

/* `inode` is the transaction's copy. Slot 0 makes a hole. -ENOSPC: no block is free for a node. */
int tree_put(struct tbfs *fs, struct tbfs_inode *inode, uint64_t index, uint64_t slot);

/* Unlinks and frees all blocks from index `first` on, in place, for a file on the truncate list. */
void tree_cut(struct tbfs *fs, struct tbfs_inode *inode, uint64_t first);

/* Visits every node and slot of a tree, each node before its content. Stops at the first error of `visit`, and returns
 * it. */
typedef int tree_visit(struct tbfs *fs, void *context, uint64_t place, bool is_slot);
int tree_walk(struct tbfs *fs, const struct tbfs_inode *inode, tree_visit *visit, void *context);

uint64_t tree_count(struct tbfs *fs, const struct tbfs_inode *inode); /* number of its pages and nodes */
void tree_release(struct tbfs *fs, const struct tbfs_inode *inode);   /* frees them; the medium stays unchanged */

#endif
