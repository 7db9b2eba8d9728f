/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* Pages lose their logs, which become a part of a block: each in a transaction of its own. */
#ifndef TBFS_MERGE_H
#define TBFS_MERGE_H

#include "tbfs.h"

/* The page, which has a log, is one block again. -ENOSPC: there is none for it. -EROFS. */
int merge_page(struct tbfs *fs, uint64_t ino, uint64_t index);

/* What a call returned that has forgotten its transaction. True: it lacked room, and now there is more. */
bool merge_for_room(struct tbfs *fs, int status);

#endif
