/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * L1D and L2 of one core, and the LLC that it shares with the other cores: write-back, write-allocate, neither
 * inclusive nor exclusive. A fill from memory enters all three levels; a dirty victim enters the next level; a clean
 * victim is dropped.
 *
 * Only the innermost level that holds a line stores its dirty bit; a fill takes the bit along. So a line that is clean
 * in L1 is clean, and the store that makes it dirty is the only moment at which its old bytes can be saved. For a line
 * that several cores share, the LLC may store the bit.
 */
#ifndef MODEL_CPU_CACHES_H
#define MODEL_CPU_CACHES_H

#include "../base/host_cache.h"
#include "../config/cpu.h"
#include "frames.h"
#include "setassoc.h"

typedef enum MemLevel {
    MEM_LEVEL_L1,
    MEM_LEVEL_L2,
    MEM_LEVEL_LLC,
    MEM_LEVEL_MEMORY,
    MEM_LEVEL_OTHER, /* another core's caches */
} MemLevel;

typedef struct MemCpuCaches {
    MemSets l1;        /* FIFO */
    MemSets l2;        /* LRU */
    MemSets llc;       /* LRU; all cores share its sets */
    MemFrames frames;  /* L2 and LLC look up lines by its numbers, L1 by the line itself */
    bool owns_llc;     /* only core 0 */
    bool has_others;   /* lines that leave L2 must be reported */
    uint64_t line_end; /* lines from here on have no tag at some level */
} MemCpuCaches;

/* The outcome of an access in L1. */
typedef struct MemL1Access {
    uint32_t slot;    /* slot of the line now */
    bool hit;         /* false: the line was put there, and mem_cpu_fetch() must bring it */
    bool dirtied;     /* of a hit: a store found the line clean */
    MemVictim victim; /* of a miss: the previous line of the slot */
} MemL1Access;

/* The LLC's own fill, L2's victim, L1's victim by way of L2; and a line that another core gave. */
#define MEM_MAX_VICTIMS 4

/* The outcome of an access beyond L1. */
typedef struct MemCpuFetch {
    MemLevel level;  /* where the line was found */
    bool dirty;      /* the line was dirty there; it is dirty in L1 after mem_cpu_l1_dirty() */
    bool prefetched; /* the line was prefetched and not used before */
    uint32_t victim_count;
    uint64_t victims[MEM_MAX_VICTIMS]; /* dirty lines pushed out of the LLC, in order */
    uint32_t left_count;               /* lines that left L2, clean or dirty; reported only with several cores */
    uint64_t left[2];
} MemCpuFetch;

/* `beside`: caches that share their LLC and outlive these; NULL: create an LLC. */
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
 * An access has two steps that share no data, so that another thread may take the
 * second step later: L1, which decides whether the CPU must wait at all, and the
 * levels beyond it. The second steps are taken in the order of the first.
 */
static inline MemL1Access mem_cpu_access_l1(MemCpuCaches *c, uint64_t line, bool store);
/* `victim`: the line that L1 pushed out if that line was dirty, else MEM_NO_LINE. */
void mem_cpu_fetch(MemCpuCaches *c, uint64_t line, uint64_t victim, MemCpuFetch *fetch);
/* The same with several cores: also reports the lines that left L2. */
void mem_cpu_fetch_beside_others(MemCpuCaches *c, uint64_t line, uint64_t victim, MemCpuFetch *fetch);
/* A fetch of this line will follow: prefetch its set of the LLC, the one array that the host's caches may not hold. */
static inline void mem_cpu_expect(const MemCpuCaches *c, uint64_t line);
/* The line in this slot came dirty from an outer level. */
void mem_cpu_l1_dirty(MemCpuCaches *c, uint32_t slot);
/* The line that an access to `line` pushed out of L1. */
static inline uint64_t mem_cpu_l1_victim(const MemCpuCaches *c, uint64_t line, MemVictim victim);
/* Bring a line into L2, unless L2 holds it. The line comes from memory if `fetch->level` says so. */
void mem_cpu_prefetch(MemCpuCaches *c, uint64_t line, MemCpuFetch *fetch);

/*
 * Make a line clean in all levels, or remove it. Returns whether it was dirty;
 * `*slot` is the L1 slot that became clean or empty, else MEM_NO_SLOT.
 */
bool mem_cpu_clean(MemCpuCaches *c, uint64_t line, uint32_t *slot);
bool mem_cpu_drop(MemCpuCaches *c, uint64_t line, uint32_t *slot);

/* The same in L1 and L2 only, with `*slot` the L1 slot of the line or MEM_NO_SLOT; then the same in the LLC only. */
bool mem_cpu_clean_private(MemCpuCaches *c, uint64_t line, uint32_t *slot);
bool mem_cpu_drop_private(MemCpuCaches *c, uint64_t line, uint32_t *slot);
bool mem_cpu_drop_llc(MemCpuCaches *c, uint64_t line);
bool mem_cpu_clean_llc(MemCpuCaches *c, uint64_t line);
/* Whether L1 or L2 holds the line, or holds it dirty; whether the LLC holds it clean, or dirty. */
bool mem_cpu_has_private(const MemCpuCaches *c, uint64_t line);
bool mem_cpu_is_dirty_private(const MemCpuCaches *c, uint64_t line);
bool mem_cpu_has_clean_llc(const MemCpuCaches *c, uint64_t line);
bool mem_cpu_is_dirty_llc(const MemCpuCaches *c, uint64_t line);
/* Several cores will share a line with one dirty copy: from now on the LLC holds it dirty. */
void mem_cpu_put_dirty_llc(MemCpuCaches *c, uint64_t line, MemCpuFetch *fetch);

typedef void MemVisitLine(void *opaque, uint64_t line);
/* Call `visit` for each dirty line of L1, then of L2, in slot order; or of the LLC. */
void mem_cpu_visit_dirty(const MemCpuCaches *c, MemVisitLine *visit, void *opaque);
void mem_cpu_visit_dirty_llc(const MemCpuCaches *c, MemVisitLine *visit, void *opaque);
/* Call `visit` for each line of L1, then for each line of L2 that is not in L1. */
void mem_cpu_visit_private(const MemCpuCaches *c, MemVisitLine *visit, void *opaque);
/* Empty L1 and L2, and an LLC that these caches own. */
void mem_cpu_clear(MemCpuCaches *c);

/* NULL, or the broken law of the hierarchy. */
const char *mem_cpu_check(const MemCpuCaches *c);

/* ---- L1's part is on the path of every miss of the guest, in the thread that everything waits for ---- */

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
    mem_host_expect(mem_place_of(&c->llc, mem_frames_seen(&c->frames, line)).set);
}

static inline uint64_t mem_cpu_l1_victim(const MemCpuCaches *c, uint64_t line, MemVictim victim) {
    return mem_line_of(&c->l1, mem_place_of(&c->l1, line).number, victim.tag);
}

#endif
