/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* A file's pages: a radix tree of nodes with 512 pointers, whose lowest ones are slots (format.h). A changed tree is
 * one of the open transaction. */
#ifndef TBFS_TREE_H
#define TBFS_TREE_H

#include "tbfs.h"

/* The slot of this index of the file, 0: a hole. */
uint64_t tree_get(const struct tbfs *fs, const struct tbfs_inode *inode, uint64_t index);

/* The first index from `index` on that is no hole, at most `end`. */
uint64_t tree_next(const struct tbfs *fs, const struct tbfs_inode *inode, uint64_t index, uint64_t end);

/* `inode` is a copy of the transaction. 0 as slot makes a hole. -ENOSPC: no node could be had. */
int tree_put(struct tbfs *fs, struct tbfs_inode *inode, uint64_t index, uint64_t slot);

/* Unlinks all blocks from index `first` on, and frees them: in place, for a file that is on the truncate list. */
void tree_cut(struct tbfs *fs, struct tbfs_inode *inode, uint64_t first);

/* Every node and slot of a tree, nodes before what they hold. Stops when `visit` returns an error, and returns it. */
typedef int tree_visit(struct tbfs *fs, void *context, uint64_t place, bool is_slot);
int tree_walk(struct tbfs *fs, const struct tbfs_inode *inode, tree_visit *visit, void *context);

uint64_t tree_count(struct tbfs *fs, const struct tbfs_inode *inode); /* its pages and nodes */
void tree_release(struct tbfs *fs, const struct tbfs_inode *inode);   /* they are free; the medium stays as it is */

#endif
