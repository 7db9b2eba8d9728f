/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* The bytes of files. */
#ifndef TBFS_DATA_H
#define TBFS_DATA_H

#include "../tbfs.h"

/* Zeros the mapped pages of the file between these offsets, in place. */
void data_zero(struct tbfs *fs, const struct tbfs_inode *inode, uint64_t begin, uint64_t end);

/* Takes a new block for this index in the transaction. The caller writes `bytes` at `at`; the rest is copied from the
 * old content. */
int data_new_block(struct tbfs *fs, struct tbfs_inode *inode, uint64_t index, uint64_t at, uint64_t bytes,
                   uint64_t *block);

#endif
