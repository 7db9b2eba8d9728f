/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the model tells its caller while it works. */
#ifndef MODEL_CALLBACKS_H
#define MODEL_CALLBACKS_H

#include "units.h"

/* Where the newest bytes of a device line are, as far as durability goes. */
typedef enum MemLineState {
    MEM_LINE_DURABLE,      /* survives a power cut as it is */
    MEM_LINE_CPU_DIRTY,    /* in a CPU cache or write-combining buffer */
    MEM_LINE_IN_FLIGHT,    /* on its way to the device */
    MEM_LINE_DEVICE_CACHE, /* in an unprotected device cache */
    MEM_LINE_PROGRAMMING,  /* unprotected: flash program under way */
} MemLineState;

typedef struct MemCallbacks {
    void *opaque;
    /*
     * The line in this slot of a core's L1 left it, or lost the permission to be
     * written without telling the model (it became clean or entered a WC
     * buffer). The caller must forget any short cut it holds for the slot.
     */
    void (*l1_slot_dropped)(void *opaque, uint32_t core, uint32_t slot);
    /*
     * Another core reads the line in this slot: it stays, and loads of it need
     * not be told, but stores must. NULL with one core, which is never told.
     */
    void (*l1_slot_shared)(void *opaque, uint32_t core, uint32_t slot);
    /* A device line changed its persistence state. May be NULL. By whichever thread works on posted accesses. */
    void (*line_state)(void *opaque, uint32_t device, uint64_t dpa, MemLineState from, MemLineState to, mem_ps at_ps);
    /* The persistence event of memsys_cut_after() has happened: call memsys_power_cut(). May be NULL. */
    void (*power_gone)(void *opaque, mem_ps at_ps);
    /*
     * The flash cannot be read there, and nothing in the device is newer: what these lines held is gone. They have a
     * content again when all of a line has been written. May be NULL.
     */
    void (*lines_lost)(void *opaque, uint32_t device, uint64_t dpa, uint64_t size_bytes);
} MemCallbacks;

#endif
