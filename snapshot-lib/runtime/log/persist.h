/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The persistence layer: the only code that writes to persistent memory. persist_hw.c uses the processor's
 * instructions; a test links another implementation, which records, counts and loses writes.
 */
#ifndef SNAPSHOT_PERSIST_H
#define SNAPSHOT_PERSIST_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copy whole lines, both sides aligned to 64 bytes. The stores are non-temporal: the target is not read into the CPU's
 * caches, and the write is durable after the next fence. Only a fence between two copies orders them.
 */
void persist_copy(void *target, const void *source, size_t bytes);

void persist_fence(void);

/* Issue a fence for every thread of the process. */
void persist_fence_all(void);

/*
 * Set the size of a file, durable on return. Returns 0 or -errno. Until then a crash leaves the old size or the new
 * one: the file system's journal orders the change, as in ext4 and XFS.
 */
int persist_resize(int fd, uint64_t bytes);

#endif
