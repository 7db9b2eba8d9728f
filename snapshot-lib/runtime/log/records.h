/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of epochs: which one the file is at. */
#ifndef SNAPSHOT_RECORDS_H
#define SNAPSHOT_RECORDS_H

#include "base/region.h"
#include "format.h"

/* False: none is valid, or the two are no pair. */
bool record_newest(struct log_view log, struct record *record);
void record_write(struct log_view log, struct record record);

/*
 * Say that the file is the state to start from and no epoch up to `epoch_used` is to be looked at; not fenced. Returns
 * the number of the record: the next epoch has the next number.
 */
uint64_t record_retire(struct log_view log, uint32_t protocol, uint64_t epoch_last, uint64_t epoch_used);

/* The highest epoch that may have left blocks if `epoch` is the last one committed: one declared, one begun. */
static inline uint64_t epoch_used_max(uint64_t epoch) { return epoch + 2; }

#endif
