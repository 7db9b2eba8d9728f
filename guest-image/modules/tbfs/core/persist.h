/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * The persistence layer: the only code that writes to persistent memory. A kernel module implements it with the
 * processor's instructions, a tool with plain stores. A test links an implementation that records every store, flush
 * and fence.
 *
 * A store is durable after a flush of its line and a later fence. Writes of pm_copy_nt() and pm_zero_nt() are durable
 * after a fence alone. Before that, a line may hold any of its contents since it was last made durable: stores to one
 * line become durable in their order, and stores to two lines in any order.
 */
#ifndef TBFS_PERSIST_H
#define TBFS_PERSIST_H

#include "port.h"

/* Atomic, also across a power cut. The target is aligned to 8 bytes. */
void pm_store8(void *target, uint64_t value);

/* Atomic for other CPUs. Across a power cut they are atomic if lines travel whole, as they do on x86 in practice. */
void pm_store16(void *target, const void *source);
void pm_store64(void *target, const void *source);

/* Writes each aligned word of 8 bytes with one store, in the order of addresses. */
void pm_copy(void *target, const void *source, size_t bytes);

/* Non-temporal: target and size are multiples of 8. The words become durable in any order. */
void pm_copy_nt(void *target, const void *source, size_t bytes);
void pm_zero_nt(void *target, size_t bytes);

/* Flushes every line that contains one of these bytes. */
void pm_flush(const void *target, size_t bytes);
void pm_fence(void);

#endif
