/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An optional observer of memory, for example a trace writer. The model calls it
 * for each operation issued to memory and for each change of windows, mode,
 * counters or devices, in order. An observer cannot influence a result.
 */
#ifndef MODEL_OBSERVER_H
#define MODEL_OBSERVER_H

#include "../config/device.h"
#include "mem_op.h"
#include "window.h"

typedef struct MemObserver {
    void *opaque;
    /* The operation was issued at `at_ps`, the CPU stalled for `stall_ps`. Ignore both if it is `with_previous`. */
    void (*operation)(void *opaque, const MemOperation *op, mem_ps at_ps, mem_ps stall_ps);
    /* A window was mapped. The operations that the change causes (lines written back) are reported before. */
    void (*window)(void *opaque, uint32_t index, const MemWindow *window, mem_ps now_ps);
    /* mem_memory_set_timed() was called, with the same `now_ps`. */
    void (*timed)(void *opaque, bool timed, mem_ps now_ps);
    void (*reset_counters)(void *opaque);
    void (*reconfigure)(void *opaque, uint32_t device, const MemDeviceConfig *config, mem_ps now_ps);
} MemObserver;

#endif
