/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* The persistent data of crash_cases.c, for it and for its check, module_cases.c. */
#ifndef CRASH_CELLS_H
#define CRASH_CELLS_H

#include <linux/types.h>

/*
 * The cases start at this offset of the disk, behind the blocks of a partition table. Each
 * has a page of its own, so that a check reads no other.
 */
enum { CASES_AT = 1 << 20, CELL_BYTES = 4096, LINE_WORDS = 8 };

struct line {
	__u64 word[LINE_WORDS];
} __attribute__((aligned(64)));

/* All zero at the begin. */
struct cell {
	struct line record[2];
	struct line valid;
	struct line log; /* the old content of both lines of the record */
};

/* The function of a case, its name, and the condition that must hold after it. */
#define CRASH_CASES(X)                                                                             \
	X(missing_flush, "missing flush", is_whole)                                                \
	X(missing_fence, "smp_wmb() for wmb()", is_whole)                                          \
	X(valid_first, "valid before the record", is_whole)                                        \
	X(short_write_back, "write-back of the first line only", is_whole)                         \
	X(plain_store, "plain store beside a non-temporal copy", is_whole)                         \
	X(two_words, "two words in place", both_words)                                             \
	X(log_cleared_early, "log cleared before its data", undone_or_done)                        \
	X(commit_without_fence, "commit without fence", is_whole)

#endif
