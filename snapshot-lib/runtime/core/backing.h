/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocates blocks of the file for the pages that are stored to. */
#ifndef SNAPSHOT_BACKING_H
#define SNAPSHOT_BACKING_H

#include "base/region.h"

void pages_want(struct region *region, uint64_t offset, uint64_t bytes);
int pages_back(struct region *region);
void pages_forget(struct region *region, uint64_t from_bytes);

#endif
