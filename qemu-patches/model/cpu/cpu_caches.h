/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * L1D and L2 of one core and the LLC that it shares with the others: write-back,
 * write-allocate, neither inclusive nor exclusive. A fill from memory enters all three levels; a dirty victim enters
 * the next level; a clean victim is dropped.
 *
 * The dirty bit is held once, by the innermost level that holds the line: a fill
 * takes it along. So a line clean in L1 is clean, and a store that makes it
 * dirty is the one moment its old bytes can be saved.
 */
#ifndef MODEL_CPU_CACHES_H
#define MODEL_CPU_CACHES_H

#include "../base/host_cache.h"
#include "../config/cpu.h"
#include "setassoc.h"

typedef enum MemLevel {
    MEM_LEVEL_L1,
    MEM_LEVEL_L2,
    MEM_LEVEL_LLC,
    MEM_LEVEL_MEMORY,
    MEM_LEVEL_OTHER, /* another core's */
} MemLevel;

typedef struct MemCpuCaches {
    MemSets l1;        /* FIFO */
    MemSets l2;        /* LRU */
    MemSets llc;       /* LRU; the same sets for all cores */
    bool owns_llc;     /* that of core 0 */
    bool has_others;   /* what leaves L2 is to be told */
    uint64_t line_end; /* no line from here on has a tag at every level */
} MemCpuCaches;

/* What an access does in L1. */
typedef struct MemL1Access {
    uint32_t slot;    /* where the line is now */
    bool hit;         /* else it was put there, and mem_cpu_fetch() must bring it */
    bool dirtied;     /* a store found the line clean; of a hit */
    MemVictim victim; /* what the slot held before; of a miss */
} MemL1Access;

/* The LLC's own fill, L2's victim, L1's victim by way of L2; and a line that another core gave. */
#define MEM_MAX_VICTIMS 4

/* What it does beyond L1. */
typedef struct MemCpuFetch {
    MemLevel level;  /* where the line was found */
    bool dirty;      /* and was dirty there: it is now in L1, once mem_cpu_l1_dirty() says so */
    bool prefetched; /* the line was prefetched and not used before */
    uint32_t victim_count;
    uint64_t victims[MEM_MAX_VICTIMS]; /* dirty lines pushed out of the LLC, in order */
    uint32_t left_count;               /* of lines that left L2, clean or dirty; told only with other cores */
    uint64_t left[2];
} MemCpuFetch;

/* `beside`: the caches whose LLC it shares and which outlive it; NULL: it has one of its own. */
void mem_cpu_init(MemCpuCaches *c, const MemCpuConfig *config, const MemCpuCaches *beside);
void mem_cpu_destroy(MemCpuCaches *c);

/* L1 slots are numbered set by set. */
uint32_t mem_cpu_l1_slots(const MemCpuCaches *c);
bool mem_cpu_l1_slot_holds_line(const MemCpuCaches *c, uint32_t slot);
/* The slot of a line, or MEM_NO_SLOT. */
uint32_t mem_cpu_l1_slot(const MemCpuCaches *c, uint64_t line);
/* Whether any level holds the line. */
bool mem_cpu_has(const MemCpuCaches *c, uint64_t line);

/*
 * An access is two steps that share no data, so that the second may be taken
 * later, by another thread: L1, which knows whether the CPU must wait at all,
 * and the levels beyond it. The second steps are taken in the order of the first.
 */
static inline MemL1Access mem_cpu_access_l1(MemCpuCaches *c, uint64_t line, bool store);
/* `victim` is the line that L1 pushed out if that was dirty, else MEM_NO_LINE. */
void mem_cpu_fetch(MemCpuCaches *c, uint64_t line, uint64_t victim, MemCpuFetch *fetch);
/* The same with other cores: it tells what left L2. */
void mem_cpu_fetch_beside_others(MemCpuCaches *c, uint64_t line, uint64_t victim, MemCpuFetch *fetch);
/* It will soon be asked for this line: let the host fetch the one array that its own caches may not hold. */
static inline void mem_cpu_expect(const MemCpuCaches *c, uint64_t line);
/* The line in this slot came dirty. */
void mem_cpu_l1_dirty(MemCpuCaches *c, uint32_t slot);
/* The line that an access to `line` pushed out of L1. */
static inline uint64_t mem_cpu_l1_victim(const MemCpuCaches *c, uint64_t line, MemVictim victim);
/* Bring a line into L2, unless it is there; it comes from memory if `level` says so. */
void mem_cpu_prefetch(MemCpuCaches *c, uint64_t line, MemCpuFetch *fetch);

/*
 * Make a line clean, or remove it. Returns whether it was dirty; `*slot` is the
 * L1 slot that became clean or empty, else MEM_NO_SLOT.
 */
bool mem_cpu_clean(MemCpuCaches *c, uint64_t line, uint32_t *slot);
bool mem_cpu_drop(MemCpuCaches *c, uint64_t line, uint32_t *slot);

/* Call `visit` for each dirty line of L1, then L2, in slot order; or of the LLC. */
/* The same of L1 and L2 alone; `*slot` is that of the line in L1, if it is there. */
bool mem_cpu_clean_private(MemCpuCaches *c, uint64_t line, uint32_t *slot);
bool mem_cpu_drop_private(MemCpuCaches *c, uint64_t line, uint32_t *slot);
bool mem_cpu_drop_llc(MemCpuCaches *c, uint64_t line);
bool mem_cpu_clean_llc(MemCpuCaches *c, uint64_t line);
/* Whether L1 or L2 holds the line; and holds it dirty. */
bool mem_cpu_has_private(const MemCpuCaches *c, uint64_t line);
bool mem_cpu_is_dirty_private(const MemCpuCaches *c, uint64_t line);
bool mem_cpu_has_clean_llc(const MemCpuCaches *c, uint64_t line);
bool mem_cpu_is_dirty_llc(const MemCpuCaches *c, uint64_t line);
/* A line whose only dirty copy several cores are to share: the LLC has it from now on. */
void mem_cpu_put_dirty_llc(MemCpuCaches *c, uint64_t line, MemCpuFetch *fetch);

typedef void MemVisitLine(void *opaque, uint64_t line);
void mem_cpu_visit_dirty(const MemCpuCaches *c, MemVisitLine *visit, void *opaque);
void mem_cpu_visit_dirty_llc(const MemCpuCaches *c, MemVisitLine *visit, void *opaque);
/* Call it for each line of L1, then each of L2 that is not in L1. */
void mem_cpu_visit_private(const MemCpuCaches *c, MemVisitLine *visit, void *opaque);
/* Empty L1 and L2, and the LLC if it is its own. */
void mem_cpu_clear(MemCpuCaches *c);

/* NULL, or the law of the hierarchy that is broken. */
const char *mem_cpu_check(const MemCpuCaches *c);

/* ---- The L1's part is on the way of every miss of the guest, in the thread that everything waits for ---- */

static inline uint32_t mem_cpu_slot_of(const MemCpuCaches *c, MemPlace p, uint32_t way) {
    return (uint32_t)p.number * c->l1.ways + way;
}

static inline MemL1Access mem_cpu_access_l1(MemCpuCaches *c, uint64_t line, bool store) {
    MemPlace l1 = mem_place_of(&c->l1, line);
    uint32_t way = mem_set_find(&c->l1, l1);
    MemL1Access access = {.hit = way != MEM_NO_WAY};

    if (access.hit) {
        access.dirtied = store && !(l1.set->marks & MEM_DIRTY << way);
        l1.set->marks |= (store ? MEM_DIRTY : 0) << way;
    } else {
        access.victim = mem_set_fill(&c->l1, l1, store ? MEM_DIRTY : 0, &way);
    }
    access.slot = mem_cpu_slot_of(c, l1, way);
    return access;
}

static inline void mem_cpu_expect(const MemCpuCaches *c, uint64_t line) {
    mem_host_expect(mem_place_of(&c->llc, line).set);
}

static inline uint64_t mem_cpu_l1_victim(const MemCpuCaches *c, uint64_t line, MemVictim victim) {
    return mem_line_of(&c->l1, mem_place_of(&c->l1, line).number, victim.tag);
}

#endif
