/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* Merges logs of pages into blocks, each in a separate transaction. */
#ifndef TBFS_MERGE_H
#define TBFS_MERGE_H

#include "../tbfs.h"

/* Merges the log of a page, which then is one block. -ENOSPC: no block is free, and the log has no block below it.
 * -EROFS. */
int merge_page(struct tbfs *fs, uint64_t ino, uint64_t index);

/* Takes the status of a call that has dropped its transaction. True: the call lacked space, and merges have freed
 * some. */
bool merge_for_room(struct tbfs *fs, int status);

#endif
