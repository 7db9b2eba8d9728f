/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The outcome of a power cut, and the shutdown state that a CXL device keeps over it. */
#ifndef MODEL_POWER_H
#define MODEL_POWER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct MemPowerCut {
    uint64_t lines_lost;     /* lines with other bytes after the cut than before */
    uint64_t lines_kept;     /* lines dirty in the CPU that kept their newest bytes */
    uint64_t energy_used_nj; /* by a Global Persistent Flush */
    bool dirty_shutdown;     /* lost: bytes that had reached the device, or that its domain covers */
} MemPowerCut;

/*
 * The shutdown state of CXL (Set Shutdown State, Get Health Info). The owner of
 * the media stores it beside them, over power cycles.
 */
typedef struct MemShutdown {
    bool dirty;           /* the state: memory was written since the state was last clean */
    uint32_t dirty_count; /* power-ons that found the state dirty */
} MemShutdown;

/* Persistent memory was written, or the host set the state to dirty before writing. */
static inline void mem_shutdown_written(MemShutdown *s) { s->dirty = true; }

/* The host set the state to clean, or power goes off in an orderly way. */
static inline void mem_shutdown_orderly(MemShutdown *s) { s->dirty = false; }

/* Power failed: the device sets the state to clean if it could save all bytes that it had promised to save. */
static inline void mem_shutdown_cut(MemShutdown *s, const MemPowerCut *cut) { s->dirty &= cut->dirty_shutdown; }

/* Power is back: count a dirty state, and set it to clean. */
static inline void mem_shutdown_power_on(MemShutdown *s) {
    s->dirty_count += s->dirty && s->dirty_count < UINT32_MAX;
    s->dirty = false;
}

#endif
