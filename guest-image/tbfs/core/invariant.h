/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* Rules that this code keeps by itself. A broken one means a fault of the code or of the memory, not of the medium. */
#ifndef TBFS_INVARIANT_H
#define TBFS_INVARIANT_H

#include "tbfs.h"

/* Reports the first broken rule, and makes the file system read-only until it is mounted again. */
void invariant_broken(struct tbfs *fs, const char *sentence, uint64_t number);

/* Whether the rule holds. The number goes into the report. */
static inline bool invariant_holds(struct tbfs *fs, bool holds, const char *sentence, uint64_t number) {
    if (__builtin_expect(!holds, 0))
        invariant_broken(fs, sentence, number);
    return holds;
}

#endif
