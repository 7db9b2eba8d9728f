/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* Inodes: their begin and end, and the truncate list, which is of those whose blocks are still to be freed. */
#ifndef TBFS_INODE_H
#define TBFS_INODE_H

#include "tbfs.h"

/* -ENOENT: the number is no inode's. Of the medium, not to be written. */
int inode_find(const struct tbfs *fs, uint64_t ino, const struct tbfs_inode **inode);
int inode_find_directory(const struct tbfs *fs, uint64_t ino, const struct tbfs_inode **inode);

/* In the transaction. -ENOSPC: no number is free. */
int inode_new(struct tbfs *fs, const struct tbfs_new *what, const struct tbfs_caller *caller, uint64_t *ino);

/* In the transaction: one name less. It goes to the truncate list, and to `*orphan`, if it was the last one. */
void inode_drop_name(struct tbfs *fs, uint64_t ino, uint32_t now, uint64_t *orphan);

/* In the transaction: its blocks behind `size` are to be freed. */
void inode_list(struct tbfs *fs, uint64_t ino, uint64_t size);

/* Does the work for one that is on the list, and takes it off if it still has a name. */
int inode_finish_truncate(struct tbfs *fs, uint64_t ino);

/* After a crash. -EUCLEAN: the list is none. */
int inode_resume_truncates(struct tbfs *fs);

static inline uint64_t size_in_blocks(uint64_t size) { return (size + TBFS_BLOCK_BYTES - 1) / TBFS_BLOCK_BYTES; }

#endif
