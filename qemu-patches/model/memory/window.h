/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a host sees its devices. */
#ifndef MODEL_WINDOW_H
#define MODEL_WINDOW_H

#include "../base/units.h"

#define MEMSYS_MAX_DEVICES 8u
#define MEMSYS_MAX_WINDOWS 16u
#define MEMSYS_MAX_WAYS 8u

/*
 * A range of host physical addresses and what is behind it: a committed HDM
 * decoder. With several ways, pieces of `granularity_bytes` go to the devices
 * in turn, each device's part beginning at its `dpa`.
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
