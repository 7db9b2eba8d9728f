/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * The persistence layer: the only code that writes to persistent memory. A kernel module does it with the processor's
 * instructions, a tool with plain stores; a test links its own, which records every store, flush and fence.
 *
 * A store is durable after a flush of its line and then a fence. What pm_copy_nt() and pm_zero_nt() write is durable
 * after a fence alone. Before that a line may hold any of the contents that it had since it was last made durable: its
 * stores become durable in their order, and stores to two lines in any order.
 */
#ifndef TBFS_PERSIST_H
#define TBFS_PERSIST_H

#include "port.h"

/* Atomic, also at a power cut. The target is aligned to its size. */
void pm_store8(void *target, uint64_t value);

/* Atomic as seen by other CPUs. A power cut leaves all of it or nothing if lines travel whole, as they do on x86 in
 * fact. */
void pm_store16(void *target, const void *source);
void pm_store64(void *target, const void *source);

/* Each aligned word of 8 bytes is one store, in order of address. */
void pm_copy(void *target, const void *source, size_t bytes);

/* Non-temporal: target and size are multiples of 8. Its words become durable in any order. */
void pm_copy_nt(void *target, const void *source, size_t bytes);
void pm_zero_nt(void *target, size_t bytes);

/* Every line that has one of these bytes. */
void pm_flush(const void *target, size_t bytes);
void pm_fence(void);

#endif
