/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cpu_caches.h"

void mem_cpu_init(MemCpuCaches *c, const MemCpuConfig *config) {
    mem_fifo_init(&c->l1, &config->l1d);
    mem_lru_init(&c->l2, &config->l2);
    mem_lru_init(&c->llc, &config->llc);
}

void mem_cpu_destroy(MemCpuCaches *c) {
    mem_fifo_destroy(&c->l1);
    mem_lru_destroy(&c->l2);
    mem_lru_destroy(&c->llc);
}

/* What a level pushed out goes on to the next if it is dirty, and is forgotten if not. */
static void spill_llc(MemVictim victim, MemCpuAccess *access) {
    if (victim.dirty) {
        access->victims[access->victim_count++] = victim.line;
    }
}

static void spill_l2(MemCpuCaches *c, MemVictim victim, MemCpuAccess *access) {
    if (victim.dirty) {
        spill_llc(mem_lru_put(&c->llc, victim.line, true), access);
    }
}

static void spill_l1(MemCpuCaches *c, MemVictim victim, MemCpuAccess *access) {
    if (victim.dirty) {
        spill_l2(c, mem_lru_put(&c->l2, victim.line, true), access);
    }
}

static void fill_from_below(MemCpuCaches *c, uint64_t line, bool store, MemCpuAccess *access) {
    MemTag flags = 0;

    if (mem_lru_hit(&c->l2, line, &flags)) {
        access->level = MEM_LEVEL_L2;
    } else if (mem_lru_hit(&c->llc, line, &flags)) {
        access->level = MEM_LEVEL_LLC;
        spill_l2(c, mem_lru_fill(&c->l2, line, 0), access);
    } else {
        access->level = MEM_LEVEL_MEMORY;
        spill_llc(mem_lru_fill(&c->llc, line, 0), access);
        spill_l2(c, mem_lru_fill(&c->l2, line, 0), access);
    }
    bool dirty = mem_tag_dirty(flags);
    MemVictim victim = mem_fifo_put(&c->l1, line, dirty || store, &access->slot);
    access->displaced = victim.line != MEM_NO_LINE;
    access->dirtied = store && !dirty;
    access->prefetched = mem_tag_prefetched(flags);
    spill_l1(c, victim, access);
}

void mem_cpu_access(MemCpuCaches *c, uint64_t line, bool store, MemCpuAccess *access) {
    access->victim_count = 0;
    access->slot = mem_fifo_find(&c->l1, line);
    if (access->slot == MEM_NO_SLOT) {
        fill_from_below(c, line, store, access);
        return;
    }
    access->level = MEM_LEVEL_L1;
    access->displaced = false;
    access->prefetched = false;
    access->dirtied = store && !mem_tag_dirty(c->l1.tags[access->slot]);
    if (store) {
        c->l1.tags[access->slot] |= MEM_TAG_DIRTY;
    }
}

void mem_cpu_prefetch(MemCpuCaches *c, uint64_t line, MemCpuAccess *access) {
    MemTag flags = 0;

    access->victim_count = 0;
    if (mem_fifo_find(&c->l1, line) != MEM_NO_SLOT) {
        access->level = MEM_LEVEL_L1;
    } else if (mem_lru_has(&c->l2, line)) {
        access->level = MEM_LEVEL_L2;
    } else if (mem_lru_hit(&c->llc, line, &flags)) {
        access->level = MEM_LEVEL_LLC;
        spill_l2(c, mem_lru_fill(&c->l2, line, flags), access);
    } else {
        access->level = MEM_LEVEL_MEMORY;
        spill_llc(mem_lru_fill(&c->llc, line, 0), access);
        spill_l2(c, mem_lru_fill(&c->l2, line, MEM_TAG_PREFETCHED), access);
    }
}

bool mem_cpu_clean(MemCpuCaches *c, uint64_t line, uint32_t *slot) {
    *slot = mem_fifo_find(&c->l1, line);
    if (*slot != MEM_NO_SLOT && mem_tag_dirty(c->l1.tags[*slot])) {
        c->l1.tags[*slot] &= ~MEM_TAG_DIRTY;
        return true;
    }
    *slot = MEM_NO_SLOT;
    return mem_lru_clean(&c->l2, line) || mem_lru_clean(&c->llc, line);
}

bool mem_cpu_drop(MemCpuCaches *c, uint64_t line, uint32_t *slot) {
    bool dirty = mem_lru_drop(&c->l2, line);
    dirty |= mem_lru_drop(&c->llc, line);

    *slot = mem_fifo_find(&c->l1, line);
    if (*slot != MEM_NO_SLOT) {
        dirty |= mem_tag_dirty(c->l1.tags[*slot]);
        mem_fifo_drop(&c->l1, *slot);
    }
    return dirty;
}

static void visit_dirty_tags(const MemTag *tags, const MemSets *sets, void (*visit)(void *, uint64_t), void *opaque) {
    for (size_t i = 0; i < sets->count * sets->ways; i++) {
        if (mem_tag_dirty(tags[i])) {
            visit(opaque, mem_line_at(sets, i, tags[i]));
        }
    }
}

void mem_cpu_visit_dirty(const MemCpuCaches *c, void (*visit)(void *opaque, uint64_t line), void *opaque) {
    visit_dirty_tags(c->l1.tags, &c->l1.sets, visit, opaque);
    visit_dirty_tags(c->l2.tags, &c->l2.sets, visit, opaque);
    visit_dirty_tags(c->llc.tags, &c->llc.sets, visit, opaque);
}

void mem_cpu_clear(MemCpuCaches *c) {
    mem_fifo_clear(&c->l1);
    mem_lru_clear(&c->l2);
    mem_lru_clear(&c->llc);
}

/* Each tag of a set is there once. */
static bool sets_are_sound(const MemTag *tags, const MemSets *sets) {
    for (uint64_t set = 0; set < sets->count; set++) {
        const MemTag *first = tags + set * sets->ways;
        for (uint32_t way = 0; way < sets->ways; way++) {
            MemTag tag = mem_tag_plain(first[way]);
            if (tag != MEM_TAG_NONE && mem_way_of(first, way, tag) != way) {
                return false;
            }
        }
    }
    return true;
}

/* No line that is dirty in `level` is also in L1, or (`past_l2`) in L2. */
static bool dirty_only_innermost(const MemCpuCaches *c, const MemLruArray *level, bool past_l2) {
    for (size_t i = 0; i < mem_lru_lines(level); i++) {
        if (!mem_tag_dirty(level->tags[i])) {
            continue;
        }
        uint64_t line = mem_line_at(&level->sets, i, level->tags[i]);
        if (mem_fifo_find(&c->l1, line) != MEM_NO_SLOT || (past_l2 && mem_lru_has(&c->l2, line))) {
            return false;
        }
    }
    return true;
}

const char *mem_cpu_check(const MemCpuCaches *c) {
    if (!sets_are_sound(c->l1.tags, &c->l1.sets) || !sets_are_sound(c->l2.tags, &c->l2.sets) ||
        !sets_are_sound(c->llc.tags, &c->llc.sets)) {
        return "a line is in at most one place per cache level";
    }
    if (!dirty_only_innermost(c, &c->l2, false) || !dirty_only_innermost(c, &c->llc, true)) {
        return "only the innermost level that holds a line may hold it dirty";
    }
    return NULL;
}
