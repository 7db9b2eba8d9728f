/* SPDX-License-Identifier: BSD-3-Clause */
/* The persistence layer of a map that is in DRAM and is to be lost: what overhead is counted from. */
#include <string.h>

#include "log/persist.h"

void persist_copy(void *target, const void *source, size_t bytes) { memcpy(target, source, bytes); }
void persist_fence(void) {}
