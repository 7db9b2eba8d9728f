/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host's address windows onto its devices. */
#ifndef MODEL_WINDOW_H
#define MODEL_WINDOW_H

#include "../base/units.h"

#define MEMSYS_MAX_DEVICES 8u
#define MEMSYS_MAX_WINDOWS 16u
#define MEMSYS_MAX_WAYS 8u

/*
 * A committed HDM decoder: a range of host physical addresses and the devices
 * behind it. With several ways, pieces of `granularity_bytes` map to the devices
 * in turn; the share of each device begins at `dpa`.
 */
typedef struct MemWindow {
    uint64_t hpa;
    uint64_t size_bytes;
    uint64_t dpa;
    uint32_t ways;
    uint32_t granularity_bytes; /* unused with one way */
    uint32_t devices[MEMSYS_MAX_WAYS];
} MemWindow;

#endif
