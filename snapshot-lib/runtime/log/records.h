/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of epochs: they tell which epoch the file is at. */
#ifndef SNAPSHOT_RECORDS_H
#define SNAPSHOT_RECORDS_H

#include "base/region.h"
#include "format.h"

/* False: no record is valid, or the two do not follow each other. */
bool record_newest(struct log_view log, struct record *record);
void record_write(struct log_view log, struct record record);

/*
 * Declare the file the state to start from, so that no epoch up to `epoch_used` is read; not fenced. Returns the number
 * of the record: the next epoch has the next number.
 */
uint64_t record_retire(struct log_view log, uint32_t protocol, uint64_t epoch_last, uint64_t epoch_used);

/* The highest epoch that may have left blocks if `epoch` is the last committed: one declared, one begun epoch. */
static inline uint64_t epoch_used_max(uint64_t epoch) { return epoch + 2; }

#endif
