/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is told of all that memory is asked and told, in this order: a trace, for
 * one. What it does cannot reach a result. Nothing is asked of it if there is none.
 */
#ifndef MODEL_OBSERVER_H
#define MODEL_OBSERVER_H

#include "../config/device.h"
#include "mem_op.h"
#include "window.h"

typedef struct MemObserver {
    void *opaque;
    /* The operation was issued at `at_ps` and the CPU stalled for `stall_ps`; of one `with_previous` neither counts. */
    void (*operation)(void *opaque, const MemOperation *op, mem_ps at_ps, mem_ps stall_ps);
    /* A window was mapped, after the operations that this causes (lines written back). */
    void (*window)(void *opaque, uint32_t index, const MemWindow *window, mem_ps now_ps);
    /* `now_ps` is what mem_memory_set_timed() was told. */
    void (*timed)(void *opaque, bool timed, mem_ps now_ps);
    void (*reset_counters)(void *opaque);
    void (*reconfigure)(void *opaque, uint32_t device, const MemDeviceConfig *config, mem_ps now_ps);
} MemObserver;

#endif
