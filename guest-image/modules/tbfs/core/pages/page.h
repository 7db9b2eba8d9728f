/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* A page of a file. Its slot points to a block, or to a log that may have a block below it. */
#ifndef TBFS_PAGE_H
#define TBFS_PAGE_H

#include "log.h"

struct page_range {
    uint64_t begin, end;
};

uint64_t page_block(const struct tbfs *fs, uint64_t slot); /* 0: a hole, or a log without a block below it */

/* Reads a range of the page. The first byte of the range goes to `sink_at` of the sink. */
int page_read(struct tbfs *fs, uint64_t slot, struct page_range range, const struct tbfs_sink *sink, uint64_t sink_at);

/* Writes zeros in place, to the block and to each entry of the log in this range. Durable after the next fence. */
void page_zero(struct tbfs *fs, uint64_t slot, uint64_t begin, uint64_t end);

/* Marks the blocks of the page as in use. -EUCLEAN: the slot is invalid, or points to a block that is already in
 * use. */
int page_mark(struct tbfs *fs, uint64_t slot, bool may_have_log);
void page_release(struct tbfs *fs, uint64_t slot);

#endif
