/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The persistence layer: the only code that writes to persistent memory. persist_hw.c does it with the processor's
 * instructions; a test links its own, which records, counts and loses writes.
 */
#ifndef SNAPSHOT_PERSIST_H
#define SNAPSHOT_PERSIST_H

#include <stddef.h>

/*
 * Copy whole lines, both sides aligned to 64 bytes. Non-temporal: the target is not read into the CPU's caches, and the
 * write is durable after the next fence. Nothing orders two copies but a fence between them.
 */
void persist_copy(void *target, const void *source, size_t bytes);

void persist_fence(void);

#endif
