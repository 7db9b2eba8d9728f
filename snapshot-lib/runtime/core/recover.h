/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SNAPSHOT_RECOVER_H
#define SNAPSHOT_RECOVER_H

#include "base/region.h"

struct recovery {
    uint64_t epoch;      /* last commit found: the state that is now in the file */
    uint64_t epoch_next; /* first epoch that may be used */
    uint64_t lines_undone;
    uint64_t lines_replayed;
};

/* Recover with the protocol that wrote the log; the following epochs use `next`, perhaps another one. Returns 0,
 * -EUCLEAN, -EINVAL. */
int recover(struct log_view log, uint8_t *backing, uint64_t data_bytes, const struct protocol *next,
            struct recovery *result);

#endif
