// SPDX-License-Identifier: GPL-2.0-or-later
/* The persistence layer with the processor's instructions: MOVNTI and SFENCE, as the kernel selects them. */
#include "persist.h"

#include <linux/uio.h>

void persist_copy(void *target, const void *source, size_t bytes) { memcpy_flushcache(target, source, bytes); }

void persist_fence(void) { wmb(); }
