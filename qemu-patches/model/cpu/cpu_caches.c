/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cpu_caches.h"

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The number by which L2 and LLC look up a line, and the line of such a number. */
static inline uint64_t seen(const MemCpuCaches *c, uint64_t line) { return mem_frames_seen(&c->frames, line); }
static inline uint64_t unseen(const MemCpuCaches *c, uint64_t number) { return mem_frames_line(&c->frames, number); }

void mem_cpu_init(MemCpuCaches *c, const MemCpuConfig *config, const MemCpuCaches *beside) {
    mem_sets_init(&c->l1, &config->l1d);
    mem_sets_init(&c->l2, &config->l2);
    mem_frames_init(&c->frames, config->seed);
    c->owns_llc = !beside;
    c->has_others = config->cores > 1;
    if (beside) {
        c->llc = beside->llc;
    } else {
        mem_sets_init(&c->llc, &config->llc);
    }
    c->line_end = smaller(mem_sets_line_end(&c->l1), smaller(mem_sets_line_end(&c->l2), mem_sets_line_end(&c->llc)));
    if (c->frames.permuted) { /* whole GiB, since any line of a GiB may get the number of any other */
        c->line_end = c->line_end >> MEM_FRAMES_GIB_SHIFT << MEM_FRAMES_GIB_SHIFT;
    }
}

void mem_cpu_destroy(MemCpuCaches *c) {
    mem_sets_destroy(&c->l1);
    mem_sets_destroy(&c->l2);
    if (c->owns_llc) {
        mem_sets_destroy(&c->llc);
    }
}

uint32_t mem_cpu_l1_slots(const MemCpuCaches *c) { return (uint32_t)c->l1.count * c->l1.ways; }

bool mem_cpu_l1_slot_holds_line(const MemCpuCaches *c, uint32_t slot) {
    return mem_set_at(&c->l1, slot / c->l1.ways)->tags[slot % c->l1.ways] != MEM_NO_TAG;
}

uint32_t mem_cpu_l1_slot(const MemCpuCaches *c, uint64_t line) {
    MemPlace p = mem_place_of(&c->l1, line);
    uint32_t way = mem_set_find(&c->l1, p);
    return way == MEM_NO_WAY ? MEM_NO_SLOT : mem_cpu_slot_of(c, p, way);
}

bool mem_cpu_has(const MemCpuCaches *c, uint64_t line) {
    return mem_sets_have(&c->l1, line) || mem_sets_have(&c->l2, seen(c, line)) || mem_sets_have(&c->llc, seen(c, line));
}

/* ---- Accesses ---- */

/*
 * Streams come in order, and so do the lines that they push out: such a line is likely to be the newest of its set, in
 * L2 and in a large LLC, and a look at one tag finds it. For other lines this look is wasted. So the callers state
 * their expectation; the result does not depend on it.
 */
typedef enum Expected { ANYWHERE, NEWEST } Expected;

static inline uint32_t find_newest(MemPlace p, Expected where) {
    return where == NEWEST ? mem_set_find_newest(p) : MEM_NO_WAY;
}

static inline void make_dirty(MemPlace p, uint32_t way) {
    p.set->marks = (p.set->marks & ~(MEM_MARKS << way)) | MEM_DIRTY << way;
}

/* Put a dirty line from the next inner level into this one; returns the victim. */
static inline MemVictim put_dirty(const MemSets *a, MemPlace p, Expected where) {
    uint32_t way = find_newest(p, where);

    if (way == MEM_NO_WAY) {
        way = mem_set_find(a, p);
        if (way == MEM_NO_WAY) {
            return mem_set_fill(a, p, MEM_DIRTY, &way);
        }
        mem_set_use(p.set, way);
    }
    make_dirty(p, way);
    return (MemVictim){.tag = MEM_NO_TAG};
}

/* The LLC's victim goes to memory if it is dirty, and is forgotten if not. */
static void spill_llc(const MemCpuCaches *c, uint64_t set, MemVictim victim, MemCpuFetch *fetch) {
    if (victim.dirty) {
        fetch->victims[fetch->victim_count++] = unseen(c, mem_line_of(&c->llc, set, victim.tag));
    }
}

/* A prefetched line that L2 drops unused may still be on its way: the first use of its copy in the LLC must wait. */
static void mark_prefetched(const MemSets *llc, uint64_t number) {
    MemPlace p = mem_place_of(llc, number);
    uint32_t way = mem_set_find(llc, p);

    if (way != MEM_NO_WAY) {
        p.set->marks |= MEM_PREFETCHED << way;
    }
}

/* Compiled separately for a machine of one core, which does not record the lines that leave L2. */
#define INLINED static inline __attribute__((always_inline))

INLINED void spill_l2(const MemCpuCaches *c, uint64_t set, MemVictim victim, Expected where, bool others,
                      MemCpuFetch *fetch) {
    if (others && victim.tag != MEM_NO_TAG) {
        fetch->left[fetch->left_count++] = unseen(c, mem_line_of(&c->l2, set, victim.tag));
    }
    if (victim.dirty) {
        MemPlace p = mem_place_of(&c->llc, mem_line_of(&c->l2, set, victim.tag));
        spill_llc(c, p.number, put_dirty(&c->llc, p, where), fetch);
    } else if (victim.prefetched) {
        mark_prefetched(&c->llc, mem_line_of(&c->l2, set, victim.tag));
    }
}

/* Prefetch the set that spill_l2() will need, which may not be in the host's caches. */
static inline void prefetch_spilled(const MemCpuCaches *c, uint64_t set, MemVictim victim) {
    if (victim.dirty) {
        mem_host_expect(mem_place_of(&c->llc, mem_line_of(&c->l2, set, victim.tag)).set);
    }
}

static inline void fill_llc(const MemCpuCaches *c, MemPlace p, MemCpuFetch *fetch) {
    uint32_t way;
    spill_llc(c, p.number, mem_set_fill(&c->llc, p, 0, &way), fetch);
}

/* The marks that a hit takes along to the next inner level. */
typedef struct Taken {
    bool hit;
    uint32_t marks;
} Taken;

static inline Taken take_way(MemPlace p, uint32_t way) {
    Taken t = {.hit = true, .marks = p.set->marks >> way & MEM_MARKS};
    p.set->marks &= ~(MEM_MARKS << way);
    return t;
}

static inline Taken take(const MemSets *a, MemPlace p, Expected where) {
    uint32_t way = find_newest(p, where);

    if (way == MEM_NO_WAY) {
        way = mem_set_find(a, p);
        if (way == MEM_NO_WAY) {
            return (Taken){.hit = false};
        }
        mem_set_use(p.set, way);
    }
    return take_way(p, way);
}

void mem_cpu_l1_dirty(MemCpuCaches *c, uint32_t slot) {
    mem_set_at(&c->l1, slot / c->l1.ways)->marks |= MEM_DIRTY << slot % c->l1.ways;
}

INLINED void fetch_line(MemCpuCaches *c, uint64_t line, uint64_t victim, bool others, MemCpuFetch *fetch) {
    const uint64_t number = seen(c, line);
    MemPlace l2 = mem_place_of(&c->l2, number);
    MemVictim l2_victim = {.tag = MEM_NO_TAG};
    uint32_t way;

    Taken t = take(&c->l2, l2, NEWEST);
    Expected where = t.hit ? NEWEST : ANYWHERE; /* an access outside a stream misses L2 */
    fetch->victim_count = 0;
    if (others) {
        fetch->left_count = 0;
    }
    fetch->level = MEM_LEVEL_L2;
    if (!t.hit) {
        MemPlace llc = mem_place_of(&c->llc, number);
        l2_victim = mem_set_fill(&c->l2, l2, 0, &way);
        prefetch_spilled(c, l2.number, l2_victim);
        t = take(&c->llc, llc, ANYWHERE);
        fetch->level = MEM_LEVEL_LLC;
        if (!t.hit) {
            fetch->level = MEM_LEVEL_MEMORY;
            fill_llc(c, llc, fetch);
        }
        spill_l2(c, l2.number, l2_victim, ANYWHERE, others, fetch);
    }
    fetch->dirty = (t.marks & MEM_DIRTY) != 0;
    fetch->prefetched = (t.marks & MEM_PREFETCHED) != 0;
    if (victim != MEM_NO_LINE) {
        MemPlace p = mem_place_of(&c->l2, seen(c, victim));
        spill_l2(c, p.number, put_dirty(&c->l2, p, where), where, others, fetch);
    }
}

void mem_cpu_fetch(MemCpuCaches *c, uint64_t line, uint64_t victim, MemCpuFetch *fetch) {
    fetch_line(c, line, victim, false, fetch);
}

void mem_cpu_fetch_beside_others(MemCpuCaches *c, uint64_t line, uint64_t victim, MemCpuFetch *fetch) {
    fetch_line(c, line, victim, true, fetch);
}

void mem_cpu_prefetch(MemCpuCaches *c, uint64_t line, MemCpuFetch *fetch) {
    const uint64_t number = seen(c, line);
    MemPlace l2 = mem_place_of(&c->l2, number);

    fetch->victim_count = 0;
    fetch->left_count = 0;
    fetch->level = MEM_LEVEL_L2;
    if (mem_set_find(&c->l2, l2) != MEM_NO_WAY) {
        return;
    }
    MemPlace llc = mem_place_of(&c->llc, number);
    Taken t = take(&c->llc, llc, NEWEST);
    fetch->level = MEM_LEVEL_LLC;
    if (!t.hit) {
        fetch->level = MEM_LEVEL_MEMORY;
        fill_llc(c, llc, fetch);
    }
    uint32_t way;
    MemVictim victim = mem_set_fill(&c->l2, l2, t.hit ? t.marks : MEM_PREFETCHED, &way);
    spill_l2(c, l2.number, victim, NEWEST, c->has_others, fetch);
}

/* ---- Flushes ---- */

/* Clear the dirty bit if the level holds the line; returns the old bit. */
static bool clean(const MemSets *a, uint64_t line) {
    MemPlace p = mem_place_of(a, line);
    uint32_t way = mem_set_find(a, p);

    if (way == MEM_NO_WAY || !(p.set->marks & MEM_DIRTY << way)) {
        return false;
    }
    p.set->marks &= ~(MEM_DIRTY << way);
    return true;
}

bool mem_cpu_clean(MemCpuCaches *c, uint64_t line, uint32_t *slot) {
    if (clean(&c->l1, line)) {
        *slot = mem_cpu_l1_slot(c, line);
        return true;
    }
    *slot = MEM_NO_SLOT;
    return clean(&c->l2, seen(c, line)) || clean(&c->llc, seen(c, line));
}

/* Remove the line; returns whether it was dirty. */
static bool drop(const MemSets *a, uint64_t line) {
    MemPlace p = mem_place_of(a, line);
    uint32_t way = mem_set_find(a, p);

    if (way == MEM_NO_WAY) {
        return false;
    }
    bool dirty = (p.set->marks & MEM_DIRTY << way) != 0;
    mem_set_drop(a, p.set, way);
    return dirty;
}

bool mem_cpu_clean_private(MemCpuCaches *c, uint64_t line, uint32_t *slot) {
    *slot = mem_cpu_l1_slot(c, line);
    return clean(&c->l1, line) || clean(&c->l2, seen(c, line));
}

bool mem_cpu_clean_llc(MemCpuCaches *c, uint64_t line) { return clean(&c->llc, seen(c, line)); }

bool mem_cpu_drop_private(MemCpuCaches *c, uint64_t line, uint32_t *slot) {
    *slot = mem_cpu_l1_slot(c, line);
    bool dirty = drop(&c->l1, line);
    return drop(&c->l2, seen(c, line)) || dirty;
}

bool mem_cpu_drop_llc(MemCpuCaches *c, uint64_t line) { return drop(&c->llc, seen(c, line)); }

bool mem_cpu_drop(MemCpuCaches *c, uint64_t line, uint32_t *slot) {
    bool dirty = mem_cpu_drop_private(c, line, slot);
    return mem_cpu_drop_llc(c, line) || dirty;
}

bool mem_cpu_has_private(const MemCpuCaches *c, uint64_t line) {
    return mem_sets_have(&c->l1, line) || mem_sets_have(&c->l2, seen(c, line));
}

static bool is_dirty(const MemSets *a, uint64_t line) {
    MemPlace p = mem_place_of(a, line);
    uint32_t way = mem_set_find(a, p);
    return way != MEM_NO_WAY && (p.set->marks & MEM_DIRTY << way);
}

bool mem_cpu_is_dirty_private(const MemCpuCaches *c, uint64_t line) {
    return is_dirty(&c->l1, line) || is_dirty(&c->l2, seen(c, line));
}

bool mem_cpu_is_dirty_llc(const MemCpuCaches *c, uint64_t line) { return is_dirty(&c->llc, seen(c, line)); }

bool mem_cpu_has_clean_llc(const MemCpuCaches *c, uint64_t line) {
    return mem_sets_have(&c->llc, seen(c, line)) && !is_dirty(&c->llc, seen(c, line));
}

void mem_cpu_put_dirty_llc(MemCpuCaches *c, uint64_t line, MemCpuFetch *fetch) {
    MemPlace p = mem_place_of(&c->llc, seen(c, line));
    spill_llc(c, p.number, put_dirty(&c->llc, p, ANYWHERE), fetch);
}

/* L1 looks up lines by their own numbers: no permutation. */
static const MemFrames own_lines;

static void visit_dirty(const MemSets *a, const MemFrames *frames, MemVisitLine *visit, void *opaque) {
    for (uint64_t number = 0; number < a->count; number++) {
        const MemSet *s = mem_set_at(a, number);
        for (uint32_t dirty = s->marks & (MEM_PREFETCHED - 1); dirty; dirty &= dirty - 1) {
            visit(opaque, mem_frames_line(frames, mem_line_of(a, number, s->tags[__builtin_ctz(dirty)])));
        }
    }
}

void mem_cpu_visit_dirty(const MemCpuCaches *c, MemVisitLine *visit, void *opaque) {
    visit_dirty(&c->l1, &own_lines, visit, opaque);
    visit_dirty(&c->l2, &c->frames, visit, opaque);
}

void mem_cpu_visit_dirty_llc(const MemCpuCaches *c, MemVisitLine *visit, void *opaque) {
    visit_dirty(&c->llc, &c->frames, visit, opaque);
}

static void visit_held(const MemSets *a, const MemFrames *frames, const MemSets *but, MemVisitLine *visit,
                       void *opaque) {
    for (uint64_t number = 0; number < a->count; number++) {
        const MemSet *s = mem_set_at(a, number);
        for (uint32_t way = 0; way < a->ways; way++) {
            uint64_t line = mem_frames_line(frames, mem_line_of(a, number, s->tags[way]));
            if (s->tags[way] != MEM_NO_TAG && !(but && mem_sets_have(but, line))) {
                visit(opaque, line);
            }
        }
    }
}

void mem_cpu_visit_private(const MemCpuCaches *c, MemVisitLine *visit, void *opaque) {
    visit_held(&c->l1, &own_lines, NULL, visit, opaque);
    visit_held(&c->l2, &c->frames, &c->l1, visit, opaque);
}

void mem_cpu_clear(MemCpuCaches *c) {
    mem_sets_clear(&c->l1);
    mem_sets_clear(&c->l2);
    if (c->owns_llc) {
        mem_sets_clear(&c->llc);
    }
}

/* ---- Laws ---- */

/* Each way of a set occurs once in the order of use, and each line once in the set. */
static bool sets_are_sound(const MemSets *a) {
    for (uint64_t number = 0; number < a->count; number++) {
        const MemSet *s = mem_set_at(a, number);
        uint32_t ordered = 0;
        for (uint32_t way = 0; way < a->ways; way++) {
            ordered |= 1u << (s->order >> 4 * way & 15);
            if (s->tags[way] != MEM_NO_TAG && mem_equal_tags(s->tags, a->ways, s->tags[way]) != 1u << way) {
                return false;
            }
        }
        if (ordered != (1u << a->ways) - 1) {
            return false;
        }
    }
    return true;
}

typedef struct Outward {
    const MemCpuCaches *caches;
    bool past_l2;
    bool broken;
} Outward;

static void look_within(void *opaque, uint64_t line) {
    Outward *o = opaque;
    o->broken |=
        mem_sets_have(&o->caches->l1, line) || (o->past_l2 && mem_sets_have(&o->caches->l2, seen(o->caches, line)));
}

/*
 * No line that is dirty in L2 is also in L1. With one core, no line that is dirty in the LLC is in L1 or L2; several
 * cores may share such a line.
 */
static bool dirty_only_innermost(const MemCpuCaches *c) {
    Outward o = {.caches = c};

    visit_dirty(&c->l2, &c->frames, look_within, &o);
    o.past_l2 = true;
    if (!c->has_others) {
        visit_dirty(&c->llc, &c->frames, look_within, &o);
    }
    return !o.broken;
}

const char *mem_cpu_check(const MemCpuCaches *c) {
    if (!sets_are_sound(&c->l1) || !sets_are_sound(&c->l2) || !sets_are_sound(&c->llc)) {
        return "a line is in at most one place per cache level, and each way in one place of the order of use";
    }
    if (!dirty_only_innermost(c)) {
        return "only the innermost level that holds a line may hold it dirty";
    }
    return NULL;
}
