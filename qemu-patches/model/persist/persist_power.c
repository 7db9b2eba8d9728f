/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Power fails. The first pass decides, by ascending line number, which bytes of
 * each line reach the device. The second pass decides, by ascending page number,
 * which of these bytes the device can save. The result does not depend on the
 * order of the tables.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../base/mem_alloc.h"
#include "../base/mem_hash.h"
#include "persist.h"

/* The surviving bytes of a line: the index of a version, or one of these. */
#define KEPT_DURABLE MEM_NO_INDEX
#define KEPT_LIVE (MEM_NO_INDEX - 1)

typedef struct LineFate {
    uint64_t line;
    uint32_t record;
    uint32_t kept;
} LineFate;

typedef struct PowerFailure {
    MemPersist *p;
    LineFate *fates; /* by line */
    uint32_t count;
    uint64_t energy_left_nj;
    MemPowerCut outcome;
} PowerFailure;

static int by_line(const void *a, const void *b) {
    uint64_t line_a = ((const LineFate *)a)->line;
    uint64_t line_b = ((const LineFate *)b)->line;
    return (line_a > line_b) - (line_a < line_b);
}

/* Every line that has a record. */
static LineFate *sorted_lines(const MemPersist *p) {
    LineFate *fates = mem_calloc(p->pool.record_count + 1, sizeof(*fates));
    uint32_t count = 0;

    for (uint32_t i = 0; i < p->pool.record_room; i++) {
        if (p->pool.records[i].line != MEM_NO_LINE) {
            fates[count++] = (LineFate){.line = p->pool.records[i].line, .record = i, .kept = KEPT_DURABLE};
        }
    }
    qsort(fates, count, sizeof(*fates), by_line);
    return fates;
}

static bool spend(PowerFailure *f, uint64_t cost_nj) {
    if (cost_nj > f->energy_left_nj) {
        return false;
    }
    f->energy_left_nj -= cost_nj;
    f->outcome.energy_used_nj += cost_nj;
    return true;
}

/* One pseudo-random toss for each line, from the seed and the line number. */
static bool toss(uint64_t seed, uint64_t line) {
    return mem_hash_mix(seed + (line + 1) * UINT64_C(0x9e3779b97f4a7c15)) & 1;
}

/* Whether a real CPU had evicted a line that the model holds dirty in a cache or WC buffer. */
static bool was_evicted(const MemPowerRules *rules, const LineFate *fate) {
    if (rules->cut_lines == MEM_CUT_SEEDED) {
        return toss(rules->cut_seed, fate->line);
    }
    return rules->cut_lines == MEM_CUT_KEPT;
}

/* Whether the newest bytes of a line that the CPU holds dirty reach the device. */
static bool leaves_cpu(PowerFailure *f, const LineFate *fate) {
    const MemPowerRules *rules = &f->p->rules;

    switch (rules->domain) {
    case MEM_DOMAIN_EADR:
        return true;
    case MEM_DOMAIN_GPF:
        if (spend(f, rules->gpf_line_nj)) {
            return true;
        }
        f->outcome.dirty_shutdown = true;
        return false;
    default:
        return was_evicted(rules, fate);
    }
}

/* The newest version that reaches the device, or KEPT_DURABLE. */
static uint32_t newest_arrived(const MemPersist *p, const MemLineRecord *r) {
    uint32_t arrived = KEPT_DURABLE;

    if (p->rules.domain != MEM_DOMAIN_NONE) {
        return r->newest;
    }
    for (uint32_t i = r->oldest; i != MEM_NO_INDEX; i = p->pool.versions[i].newer) {
        if (p->pool.versions[i].state != MEM_LINE_IN_FLIGHT) {
            arrived = i;
        }
    }
    return arrived;
}

static void reach_device(PowerFailure *f) {
    for (uint32_t i = 0; i < f->count; i++) {
        LineFate *fate = &f->fates[i];
        const MemLineRecord *r = &f->p->pool.records[fate->record];
        fate->kept = r->cpu_dirty && leaves_cpu(f, fate) ? KEPT_LIVE : newest_arrived(f->p, r);
    }
}

/* An unprotected cache loses its pages, unless a Global Persistent Flush has the energy to program the page. */
static void save_pages(PowerFailure *f) {
    uint64_t page = UINT64_MAX;
    bool saved = false;

    for (uint32_t i = 0; i < f->count; i++) {
        LineFate *fate = &f->fates[i];
        if (fate->kept == KEPT_DURABLE) {
            continue;
        }
        if (fate->line >> f->p->page_line_shift != page) {
            page = fate->line >> f->p->page_line_shift;
            saved = f->p->rules.domain == MEM_DOMAIN_GPF && spend(f, f->p->rules.gpf_page_nj);
            if (saved && f->p->saved.saved) {
                f->p->saved.saved(f->p->saved.opaque, page);
            }
        }
        if (!saved) {
            fate->kept = KEPT_DURABLE;
            f->outcome.dirty_shutdown = true;
        }
    }
}

/* Write the surviving bytes of a line to the media. */
static void apply(PowerFailure *f, const LineFate *fate) {
    const MemLineRecord *r = &f->p->pool.records[fate->record];
    uint8_t *live = mem_persist_live(f->p, fate->line);
    bool kept_live = fate->kept == KEPT_LIVE || (fate->kept == r->newest && r->newest != MEM_NO_INDEX && !r->cpu_dirty);
    const uint8_t *bytes = fate->kept == KEPT_DURABLE ? r->durable : live;

    if (!kept_live && fate->kept != KEPT_DURABLE) {
        bytes = f->p->pool.versions[fate->kept].bytes;
    }
    f->outcome.lines_kept += fate->kept == KEPT_LIVE;
    if (memcmp(live, bytes, MEMSYS_LINE_BYTES) != 0) {
        memcpy(live, bytes, MEMSYS_LINE_BYTES);
        f->outcome.lines_lost++;
    }
}

/* Forget all records; the state of each line becomes durable. */
static void forget_all(MemPersist *p, const LineFate *fates, uint32_t count, mem_ps now_ps) {
    for (uint32_t i = 0; i < count; i++) {
        const MemLineRecord *r = &p->pool.records[fates[i].record];
        mem_persist_report(p, r->line, mem_persist_newest_state(p, r), MEM_LINE_DURABLE, now_ps);
    }
    mem_pool_clear(&p->pool);
    p->cpu_dirty_count = 0;
    p->last_accepted_ps = 0;
    p->events.count = 0;
}

MemPowerCut mem_persist_power_cut(MemPersist *p, mem_ps now_ps) {
    mem_persist_run(p, now_ps);
    PowerFailure f = {
        .p = p,
        .fates = sorted_lines(p),
        .count = p->pool.record_count,
        .energy_left_nj = p->rules.gpf_energy_nj,
    };
    reach_device(&f);
    if (!p->cache_protected) {
        save_pages(&f);
    }
    for (uint32_t i = 0; i < f.count; i++) {
        apply(&f, &f.fates[i]);
    }
    forget_all(p, f.fates, f.count, now_ps);
    free(f.fates);
    return f.outcome;
}

void mem_persist_power_off(MemPersist *p, mem_ps now_ps) {
    LineFate *fates = sorted_lines(p);
    forget_all(p, fates, p->pool.record_count, now_ps);
    free(fates);
}
