/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a power cut did, and the shutdown state that a CXL device keeps over it. */
#ifndef MODEL_POWER_H
#define MODEL_POWER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct MemPowerCut {
    uint64_t lines_lost;     /* whose bytes are other ones now than before the cut */
    uint64_t lines_kept;     /* dirty in the CPU, and kept with their newest bytes */
    uint64_t energy_used_nj; /* by a Global Persistent Flush */
    bool dirty_shutdown;     /* bytes that had reached the device, or that its domain covers, are lost */
} MemPowerCut;

/*
 * The shutdown state of CXL (Set Shutdown State, Get Health Info). It is data:
 * the owner of the media keeps it beside them, over power cycles.
 */
typedef struct MemShutdown {
    bool dirty;           /* the state: written since it was last clean */
    uint32_t dirty_count; /* power-ons that found it dirty */
} MemShutdown;

/* Persistent memory was written, or the host set the state to dirty before it does so. */
static inline void mem_shutdown_written(MemShutdown *s) { s->dirty = true; }

/* The host set the state to clean, or power goes off in good order. */
static inline void mem_shutdown_orderly(MemShutdown *s) { s->dirty = false; }

/* Power failed: the device makes the state clean if it could save all it had promised to. */
static inline void mem_shutdown_cut(MemShutdown *s, const MemPowerCut *cut) { s->dirty &= cut->dirty_shutdown; }

/* Power is back: a state found dirty is counted, and clean from then on. */
static inline void mem_shutdown_power_on(MemShutdown *s) {
    s->dirty_count += s->dirty && s->dirty_count < UINT32_MAX;
    s->dirty = false;
}

#endif
