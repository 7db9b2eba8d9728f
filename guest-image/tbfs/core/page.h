/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* A page of a file: what its slot leads to, which is a block, or a log and a block below it. */
#ifndef TBFS_PAGE_H
#define TBFS_PAGE_H

#include "log.h"

struct page_range {
    uint64_t begin, end;
};

uint64_t page_block(const struct tbfs *fs, uint64_t slot); /* 0: none, or none below its log */

/* Its begin belongs at `sink_at`. */
int page_read(struct tbfs *fs, uint64_t slot, struct page_range range, const struct tbfs_sink *sink, uint64_t sink_at);

/* In place, in all that may be seen there. Durable after the next fence. */
void page_zero(struct tbfs *fs, uint64_t slot, uint64_t begin, uint64_t end);

/* -EUCLEAN: it leads to nothing that it may, or to something that is in use. */
int page_mark(struct tbfs *fs, uint64_t slot, bool may_have_log);
void page_release(struct tbfs *fs, uint64_t slot);

#endif
