/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* Inodes: their creation and removal, and the truncate list of inodes that still have blocks to free. */
#ifndef TBFS_INODE_H
#define TBFS_INODE_H

#include "../tbfs.h"

/* Finds an inode on the medium, which the caller must not write. -ENOENT: the inode is free. -EUCLEAN: no inode can
 * have this number. */
int inode_find(const struct tbfs *fs, uint64_t ino, const struct tbfs_inode **inode);
int inode_find_directory(const struct tbfs *fs, uint64_t ino, const struct tbfs_inode **inode);

/* In the transaction. -ENOSPC: no inode number is free. */
int inode_new(struct tbfs *fs, const struct tbfs_new *what, const struct tbfs_caller *caller, uint64_t *ino);

/* In the transaction: removes one name. If it was the last one, the inode goes to the truncate list and to
 * `*orphan`. */
void inode_drop_name(struct tbfs *fs, uint64_t ino, uint32_t now, uint64_t *orphan);

/* In the transaction: puts the inode on the truncate list, so that its blocks behind `size` are freed. */
void inode_list(struct tbfs *fs, uint64_t ino, uint64_t size);

/* Frees the blocks of an inode on the list, and takes the inode off if it still has a name. */
int inode_finish_truncate(struct tbfs *fs, uint64_t ino);

/* After a crash: works off the truncate list. -EUCLEAN: the list is invalid. */
int inode_resume_truncates(struct tbfs *fs);

static inline uint64_t size_in_blocks(uint64_t size) { return (size + TBFS_BLOCK_BYTES - 1) / TBFS_BLOCK_BYTES; }

#endif
