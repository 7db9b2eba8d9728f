/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* Invariants of this code. A broken one is caused by a fault of the code or of the memory, not of the medium. */
#ifndef TBFS_INVARIANT_H
#define TBFS_INVARIANT_H

#include "../tbfs.h"

/* Reports the first broken invariant, and makes the file system read-only until it is mounted again. */
void invariant_broken(struct tbfs *fs, const char *sentence, uint64_t number);

/* Returns whether the invariant holds. The report of a broken one contains the number. */
static inline bool invariant_holds(struct tbfs *fs, bool holds, const char *sentence, uint64_t number) {
    if (__builtin_expect(!holds, 0))
        invariant_broken(fs, sentence, number);
    return holds;
}

#endif
