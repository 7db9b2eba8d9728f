/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cpu_caches.h"

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

void mem_cpu_init(MemCpuCaches *c, const MemCpuConfig *config, const MemCpuCaches *beside) {
    mem_sets_init(&c->l1, &config->l1d);
    mem_sets_init(&c->l2, &config->l2);
    c->owns_llc = !beside;
    c->has_others = config->cores > 1;
    if (beside) {
        c->llc = beside->llc;
    } else {
        mem_sets_init(&c->llc, &config->llc);
    }
    c->line_end = smaller(mem_sets_line_end(&c->l1), smaller(mem_sets_line_end(&c->l2), mem_sets_line_end(&c->llc)));
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
    return mem_sets_have(&c->l1, line) || mem_sets_have(&c->l2, line) || mem_sets_have(&c->llc, line);
}

/* ---- Accesses ---- */

/*
 * Streams come in order, and what they push out does: a line of one is likely to be the newest of its set, in the L2
 * and in a large LLC, which a look at one tag tells. For others that look is in vain. So the callers say what they
 * expect; the outcome is the same.
 */
typedef enum Expected { ANYWHERE, NEWEST } Expected;

static inline uint32_t find_newest(MemPlace p, Expected where) {
    return where == NEWEST ? mem_set_find_newest(p) : MEM_NO_WAY;
}

static inline void make_dirty(MemPlace p, uint32_t way) {
    p.set->marks = (p.set->marks & ~(MEM_MARKS << way)) | MEM_DIRTY << way;
}

/* A dirty line comes from the level within. */
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

/* What a level pushed out goes on to the next if it is dirty, and is forgotten if not. */
static void spill_llc(const MemCpuCaches *c, uint64_t set, MemVictim victim, MemCpuFetch *fetch) {
    if (victim.dirty) {
        fetch->victims[fetch->victim_count++] = mem_line_of(&c->llc, set, victim.tag);
    }
}

/* A prefetched line that L2 drops unused may be on its way still: its copy here has to be waited for. */
static void mark_prefetched(const MemSets *llc, uint64_t line) {
    MemPlace p = mem_place_of(llc, line);
    uint32_t way = mem_set_find(llc, p);

    if (way != MEM_NO_WAY) {
        p.set->marks |= MEM_PREFETCHED << way;
    }
}

/* Once for a machine of one core, which does not ask what left. */
#define INLINED static inline __attribute__((always_inline))

INLINED void spill_l2(const MemCpuCaches *c, uint64_t set, MemVictim victim, Expected where, bool others,
                      MemCpuFetch *fetch) {
    if (others && victim.tag != MEM_NO_TAG) {
        fetch->left[fetch->left_count++] = mem_line_of(&c->l2, set, victim.tag);
    }
    if (victim.dirty) {
        MemPlace p = mem_place_of(&c->llc, mem_line_of(&c->l2, set, victim.tag));
        spill_llc(c, p.number, put_dirty(&c->llc, p, where), fetch);
    } else if (victim.prefetched) {
        mark_prefetched(&c->llc, mem_line_of(&c->l2, set, victim.tag));
    }
}

/* The host's caches may have to fetch the set that spill_l2() will need. */
static inline void prefetch_spilled(const MemCpuCaches *c, uint64_t set, MemVictim victim) {
    if (victim.dirty) {
        mem_host_expect(mem_place_of(&c->llc, mem_line_of(&c->l2, set, victim.tag)).set);
    }
}

static inline void fill_llc(const MemCpuCaches *c, MemPlace p, MemCpuFetch *fetch) {
    uint32_t way;
    spill_llc(c, p.number, mem_set_fill(&c->llc, p, 0, &way), fetch);
}

/* What a hit takes along to the level within. */
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
    MemPlace l2 = mem_place_of(&c->l2, line);
    MemVictim l2_victim = {.tag = MEM_NO_TAG};
    uint32_t way;

    Taken t = take(&c->l2, l2, NEWEST);
    Expected where = t.hit ? NEWEST : ANYWHERE; /* who is not in a stream misses */
    fetch->victim_count = 0;
    if (others) {
        fetch->left_count = 0;
    }
    fetch->level = MEM_LEVEL_L2;
    if (!t.hit) {
        MemPlace llc = mem_place_of(&c->llc, line);
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
        MemPlace p = mem_place_of(&c->l2, victim);
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
    MemPlace l2 = mem_place_of(&c->l2, line);

    fetch->victim_count = 0;
    fetch->left_count = 0;
    fetch->level = MEM_LEVEL_L2;
    if (mem_set_find(&c->l2, l2) != MEM_NO_WAY) {
        return;
    }
    MemPlace llc = mem_place_of(&c->llc, line);
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

/* Clear the dirty bit where the line stands; returns what it was. */
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
    return clean(&c->l2, line) || clean(&c->llc, line);
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
    return clean(&c->l1, line) || clean(&c->l2, line);
}

bool mem_cpu_clean_llc(MemCpuCaches *c, uint64_t line) { return clean(&c->llc, line); }

bool mem_cpu_drop_private(MemCpuCaches *c, uint64_t line, uint32_t *slot) {
    *slot = mem_cpu_l1_slot(c, line);
    bool dirty = drop(&c->l1, line);
    return drop(&c->l2, line) || dirty;
}

bool mem_cpu_drop_llc(MemCpuCaches *c, uint64_t line) { return drop(&c->llc, line); }

bool mem_cpu_drop(MemCpuCaches *c, uint64_t line, uint32_t *slot) {
    bool dirty = mem_cpu_drop_private(c, line, slot);
    return mem_cpu_drop_llc(c, line) || dirty;
}

bool mem_cpu_has_private(const MemCpuCaches *c, uint64_t line) {
    return mem_sets_have(&c->l1, line) || mem_sets_have(&c->l2, line);
}

static bool is_dirty(const MemSets *a, uint64_t line) {
    MemPlace p = mem_place_of(a, line);
    uint32_t way = mem_set_find(a, p);
    return way != MEM_NO_WAY && (p.set->marks & MEM_DIRTY << way);
}

bool mem_cpu_is_dirty_private(const MemCpuCaches *c, uint64_t line) {
    return is_dirty(&c->l1, line) || is_dirty(&c->l2, line);
}

bool mem_cpu_is_dirty_llc(const MemCpuCaches *c, uint64_t line) { return is_dirty(&c->llc, line); }

bool mem_cpu_has_clean_llc(const MemCpuCaches *c, uint64_t line) {
    return mem_sets_have(&c->llc, line) && !is_dirty(&c->llc, line);
}

void mem_cpu_put_dirty_llc(MemCpuCaches *c, uint64_t line, MemCpuFetch *fetch) {
    MemPlace p = mem_place_of(&c->llc, line);
    spill_llc(c, p.number, put_dirty(&c->llc, p, ANYWHERE), fetch);
}

static void visit_dirty(const MemSets *a, MemVisitLine *visit, void *opaque) {
    for (uint64_t number = 0; number < a->count; number++) {
        const MemSet *s = mem_set_at(a, number);
        for (uint32_t dirty = s->marks & (MEM_PREFETCHED - 1); dirty; dirty &= dirty - 1) {
            visit(opaque, mem_line_of(a, number, s->tags[__builtin_ctz(dirty)]));
        }
    }
}

void mem_cpu_visit_dirty(const MemCpuCaches *c, MemVisitLine *visit, void *opaque) {
    visit_dirty(&c->l1, visit, opaque);
    visit_dirty(&c->l2, visit, opaque);
}

void mem_cpu_visit_dirty_llc(const MemCpuCaches *c, MemVisitLine *visit, void *opaque) {
    visit_dirty(&c->llc, visit, opaque);
}

static void visit_held(const MemSets *a, const MemSets *but, MemVisitLine *visit, void *opaque) {
    for (uint64_t number = 0; number < a->count; number++) {
        const MemSet *s = mem_set_at(a, number);
        for (uint32_t way = 0; way < a->ways; way++) {
            uint64_t line = mem_line_of(a, number, s->tags[way]);
            if (s->tags[way] != MEM_NO_TAG && !(but && mem_sets_have(but, line))) {
                visit(opaque, line);
            }
        }
    }
}

void mem_cpu_visit_private(const MemCpuCaches *c, MemVisitLine *visit, void *opaque) {
    visit_held(&c->l1, NULL, visit, opaque);
    visit_held(&c->l2, &c->l1, visit, opaque);
}

void mem_cpu_clear(MemCpuCaches *c) {
    mem_sets_clear(&c->l1);
    mem_sets_clear(&c->l2);
    if (c->owns_llc) {
        mem_sets_clear(&c->llc);
    }
}

/* ---- Laws ---- */

/* Each way of a set has one place in the order of use, and each line is there once. */
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
    o->broken |= mem_sets_have(&o->caches->l1, line) || (o->past_l2 && mem_sets_have(&o->caches->l2, line));
}

/* No line that is dirty in L2 is also in L1; none that is dirty in the LLC is in L1 or L2, unless cores share it. */
static bool dirty_only_innermost(const MemCpuCaches *c) {
    Outward o = {.caches = c};

    visit_dirty(&c->l2, look_within, &o);
    o.past_l2 = true;
    if (!c->has_others) {
        visit_dirty(&c->llc, look_within, &o);
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
