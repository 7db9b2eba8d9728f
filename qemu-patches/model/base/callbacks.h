/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls from the model to its caller. */
#ifndef MODEL_CALLBACKS_H
#define MODEL_CALLBACKS_H

#include "units.h"

/* Where the newest bytes of a device line are, with respect to durability. */
typedef enum MemLineState {
    MEM_LINE_DURABLE,      /* survives a power cut */
    MEM_LINE_CPU_DIRTY,    /* in a CPU cache or write-combining buffer */
    MEM_LINE_IN_FLIGHT,    /* on its way to the device */
    MEM_LINE_DEVICE_CACHE, /* in an unprotected device cache */
    MEM_LINE_PROGRAMMING,  /* in an unprotected device cache, flash program under way */
} MemLineState;

typedef struct MemCallbacks {
    void *opaque;
    /*
     * The line in this slot of a core's L1 left the slot, or may no longer be
     * written without telling the model (it became clean or entered a WC buffer).
     * The caller must forget any shortcut that it holds for the slot.
     */
    void (*l1_slot_dropped)(void *opaque, uint32_t core, uint32_t slot);
    /*
     * Another core reads the line in this slot. The line stays there: the model
     * need not be told of loads of it, but of stores. May be NULL with one core,
     * which never gets this call.
     */
    void (*l1_slot_shared)(void *opaque, uint32_t core, uint32_t slot);
    /* A device line changed its persistence state. May be NULL. Called by any thread that runs posted accesses. */
    void (*line_state)(void *opaque, uint32_t device, uint64_t dpa, MemLineState from, MemLineState to, mem_ps at_ps);
    /* The persistence event of memsys_cut_after() happened: the caller must call memsys_power_cut(). May be NULL. */
    void (*power_gone)(void *opaque, mem_ps at_ps);
    /*
     * The flash cannot read these lines, and the device holds nothing newer: their content is lost. A line has content
     * again when all of it has been written. May be NULL.
     */
    void (*lines_lost)(void *opaque, uint32_t device, uint64_t dpa, uint64_t size_bytes);
} MemCallbacks;

#endif
