/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* Copies and zeros of any alignment, durable after the next fence. */
#ifndef TBFS_BYTES_H
#define TBFS_BYTES_H

#include "../tbfs.h"

void bytes_copy(void *target, const void *source, uint64_t bytes);
void bytes_zero(void *target, uint64_t bytes);

#endif
