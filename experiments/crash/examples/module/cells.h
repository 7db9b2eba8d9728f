/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* What crash_cases.c keeps on persistent memory, for it and for module_cases.c, which checks it. */
#ifndef CRASH_CELLS_H
#define CRASH_CELLS_H

#include <linux/types.h>

/*
 * The cases are so many bytes into the disk, beyond what Linux reads to look for partitions. Each
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
	struct line log; /* what both lines of the record were */
};

/* The function of a case, its name, and what must hold of it. */
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
