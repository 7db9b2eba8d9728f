/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* Writes to a page that go to its log. They are invisible until the log's head has moved. */
#ifndef TBFS_APPEND_H
#define TBFS_APPEND_H

#include "../tbfs.h"

/* In the transaction: appends `bytes` for offset `at` of the page. A `*slot` without a log gets one. */
int log_append(struct tbfs *fs, uint64_t *slot, uint64_t at, uint64_t bytes, const struct tbfs_source *source,
               uint64_t source_at);

#endif
