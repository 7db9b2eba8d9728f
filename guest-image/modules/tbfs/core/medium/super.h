/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#ifndef TBFS_SUPER_H
#define TBFS_SUPER_H

#include "../tbfs.h"

enum { SUPER_FIRST = 0, SUPER_COPY = TBFS_BLOCK_BYTES, SUPER_JOURNAL = 2 * TBFS_BLOCK_BYTES }; /* offsets */
enum { SUPER_JOURNAL_BYTES_MOST = 4 << 20 };

/* Finds the superblock; a damaged first copy is restored from the second one. -EINVAL, -EPROTONOSUPPORT, -EUCLEAN: both
 * copies are unusable; the error is the first copy's. */
int super_find(struct tbfs_space space, struct tbfs_super **super);

uint32_t super_checksum(const struct tbfs_super *super);
bool super_is_sound(const struct tbfs_super *super, uint64_t bytes); /* whether its sizes fit into the space */

static inline uint64_t super_whole_blocks(uint64_t bytes) {
    return (bytes + TBFS_BLOCK_BYTES - 1) / TBFS_BLOCK_BYTES * TBFS_BLOCK_BYTES;
}

#endif
