/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * The persistence layer: the only code that writes to persistent memory. The kernel module implements it with the
 * processor's instructions. A test links an implementation that records and loses writes.
 */
#ifndef FAMS_PERSIST_H
#define FAMS_PERSIST_H

#include "port.h"

/* Copies whole lines past the caches; source and target are aligned to a line. The copy is durable after the next
 * fence. Before the fence any subset of its aligned words of 8 bytes may be durable: only a fence orders two copies. */
void persist_copy(void *target, const void *source, size_t bytes);
void persist_fence(void);

#endif
