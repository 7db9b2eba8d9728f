/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * The persistence layer: the only code that writes to persistent memory. The kernel module does it with the processor's
 * instructions; a test links its own, which records and loses writes.
 */
#ifndef FAMS_PERSIST_H
#define FAMS_PERSIST_H

#include "port.h"

/* Whole lines past the caches, both sides aligned to one. They are durable after the next fence. Before it any part of
 * them may be, by aligned words of 8 bytes: nothing orders two copies but a fence between them. */
void persist_copy(void *target, const void *source, size_t bytes);
void persist_fence(void);

#endif
