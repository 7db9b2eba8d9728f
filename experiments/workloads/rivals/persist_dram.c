/* SPDX-License-Identifier: BSD-3-Clause */
/* The persistence layer of a map in DRAM that need not survive: the baseline of the overhead. */
#include <string.h>

#include "log/persist.h"

void persist_copy(void *target, const void *source, size_t bytes) { memcpy(target, source, bytes); }
void persist_fence(void) {}
