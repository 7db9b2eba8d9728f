/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * L1D, L2 and LLC of one CPU: write-back, write-allocate, neither inclusive nor
 * exclusive. A fill from memory enters all three levels; a dirty victim enters
 * the next level; a clean victim is dropped.
 *
 * The dirty bit is held once, by the innermost level that holds the line: a fill
 * takes it along. So a line clean in L1 is clean, and a store that makes it
 * dirty is the one moment its old bytes can be saved.
 */
#ifndef MODEL_CPU_CACHES_H
#define MODEL_CPU_CACHES_H

#include "setassoc.h"

typedef enum MemLevel { MEM_LEVEL_L1, MEM_LEVEL_L2, MEM_LEVEL_LLC, MEM_LEVEL_MEMORY } MemLevel;

typedef struct MemCpuCaches {
    MemSets l1;  /* FIFO */
    MemSets l2;  /* LRU */
    MemSets llc; /* LRU */
} MemCpuCaches;

#define MEM_MAX_VICTIMS 3 /* the LLC's own fill, L2's victim, L1's victim by way of L2 */

typedef struct MemCpuAccess {
    MemLevel level;  /* where the line was found */
    uint32_t slot;   /* where it is in L1 now; of an access only */
    bool displaced;  /* the slot held another line */
    bool dirtied;    /* a store found the line clean */
    bool prefetched; /* the line was prefetched and not used before */
    uint32_t victim_count;
    uint64_t victims[MEM_MAX_VICTIMS]; /* dirty lines pushed out of the LLC, in order */
} MemCpuAccess;

void mem_cpu_init(MemCpuCaches *c, const MemCpuConfig *config);
void mem_cpu_destroy(MemCpuCaches *c);

/* L1 slots are numbered set by set. */
uint32_t mem_cpu_l1_slots(const MemCpuCaches *c);
bool mem_cpu_l1_slot_holds_line(const MemCpuCaches *c, uint32_t slot);
/* The slot of a line, or MEM_NO_SLOT. */
uint32_t mem_cpu_l1_slot(const MemCpuCaches *c, uint64_t line);
/* Whether any level holds the line. */
bool mem_cpu_has(const MemCpuCaches *c, uint64_t line);

/* An access that hits L1, or nothing: whoever gets false goes on with mem_cpu_fill(). */
bool mem_cpu_hit(MemCpuCaches *c, uint64_t line, bool store, MemCpuAccess *access);
void mem_cpu_fill(MemCpuCaches *c, uint64_t line, bool store, MemCpuAccess *access);
/* Bring a line into L2; it comes from memory if `level` says so. */
void mem_cpu_prefetch(MemCpuCaches *c, uint64_t line, MemCpuAccess *access);

/*
 * Make a line clean, or remove it. Returns whether it was dirty; `*slot` is the
 * L1 slot that became clean or empty, else MEM_NO_SLOT.
 */
bool mem_cpu_clean(MemCpuCaches *c, uint64_t line, uint32_t *slot);
bool mem_cpu_drop(MemCpuCaches *c, uint64_t line, uint32_t *slot);

/* Call `visit` for each dirty line, from L1 outward, in slot order; then mem_cpu_clear() empties all. */
void mem_cpu_visit_dirty(const MemCpuCaches *c, void (*visit)(void *opaque, uint64_t line), void *opaque);
void mem_cpu_clear(MemCpuCaches *c);

/* NULL, or the law of the hierarchy that is broken. */
const char *mem_cpu_check(const MemCpuCaches *c);

#endif
