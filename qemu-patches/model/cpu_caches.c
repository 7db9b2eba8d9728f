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
static void spill_llc(uint64_t victim, MemCpuAccess *access) {
    if (mem_tag_dirty(victim)) {
        access->victims[access->victim_count++] = mem_tag_line(victim);
    }
}

static void spill_l2(MemCpuCaches *c, uint64_t victim, MemCpuAccess *access) {
    if (mem_tag_dirty(victim)) {
        spill_llc(mem_lru_put(&c->llc, mem_tag_line(victim), true), access);
    }
}

static void spill_l1(MemCpuCaches *c, uint64_t victim, MemCpuAccess *access) {
    if (mem_tag_dirty(victim)) {
        spill_l2(c, mem_lru_put(&c->l2, mem_tag_line(victim), true), access);
    }
}

static void fill_from_below(MemCpuCaches *c, uint64_t line, bool store, MemCpuAccess *access) {
    bool dirty = false;

    if (mem_lru_hit(&c->l2, line, &dirty)) {
        access->level = MEM_LEVEL_L2;
    } else if (mem_lru_hit(&c->llc, line, &dirty)) {
        access->level = MEM_LEVEL_LLC;
        spill_l2(c, mem_lru_fill(&c->l2, line), access);
    } else {
        access->level = MEM_LEVEL_MEMORY;
        spill_llc(mem_lru_fill(&c->llc, line), access);
        spill_l2(c, mem_lru_fill(&c->l2, line), access);
    }
    uint64_t victim = mem_fifo_put(&c->l1, line, dirty || store, &access->slot);
    access->displaced = victim != MEM_TAG_NONE;
    access->dirtied = store && !dirty;
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
    access->dirtied = store && !mem_tag_dirty(c->l1.tags[access->slot]);
    if (store) {
        c->l1.tags[access->slot] |= MEM_TAG_DIRTY;
    }
}

bool mem_cpu_clean(MemCpuCaches *c, uint64_t line, uint32_t *slot) {
    *slot = mem_fifo_find(&c->l1, line);
    if (*slot != MEM_NO_SLOT && mem_tag_dirty(c->l1.tags[*slot])) {
        c->l1.tags[*slot] = line;
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

static void visit_dirty_tags(const uint64_t *tags, size_t count, void (*visit)(void *, uint64_t), void *opaque) {
    for (size_t i = 0; i < count; i++) {
        if (mem_tag_dirty(tags[i])) {
            visit(opaque, mem_tag_line(tags[i]));
        }
    }
}

void mem_cpu_visit_dirty(const MemCpuCaches *c, void (*visit)(void *opaque, uint64_t line), void *opaque) {
    visit_dirty_tags(c->l1.tags, mem_fifo_slots(&c->l1), visit, opaque);
    visit_dirty_tags(c->l2.tags, mem_lru_lines(&c->l2), visit, opaque);
    visit_dirty_tags(c->llc.tags, mem_lru_lines(&c->llc), visit, opaque);
}

void mem_cpu_clear(MemCpuCaches *c) {
    mem_fifo_clear(&c->l1);
    mem_lru_clear(&c->l2);
    mem_lru_clear(&c->llc);
}

/* Each tag of a set: in the set its line belongs to, and there once. */
static bool sets_are_sound(const uint64_t *tags, uint64_t set_mask, uint32_t ways) {
    for (uint64_t set = 0; set <= set_mask; set++) {
        const uint64_t *first = tags + set * ways;
        for (uint32_t way = 0; way < ways; way++) {
            uint64_t line = mem_tag_line(first[way]);
            if (line == MEM_TAG_NONE) {
                continue;
            }
            if ((line & set_mask) != set) {
                return false;
            }
            for (uint32_t other = 0; other < way; other++) {
                if (mem_tag_line(first[other]) == line) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* No line that is dirty in `tags` is also in L1, or (`past_l2`) in L2. */
static bool dirty_only_innermost(const MemCpuCaches *c, const MemLruArray *level, bool past_l2) {
    for (size_t i = 0; i < mem_lru_lines(level); i++) {
        uint64_t line = mem_tag_line(level->tags[i]);
        if (!mem_tag_dirty(level->tags[i])) {
            continue;
        }
        if (mem_fifo_find(&c->l1, line) != MEM_NO_SLOT || (past_l2 && mem_lru_has(&c->l2, line))) {
            return false;
        }
    }
    return true;
}

const char *mem_cpu_check(const MemCpuCaches *c) {
    if (!sets_are_sound(c->l1.tags, c->l1.set_mask, c->l1.ways) ||
        !sets_are_sound(c->l2.tags, c->l2.set_mask, c->l2.ways) ||
        !sets_are_sound(c->llc.tags, c->llc.set_mask, c->llc.ways)) {
        return "a line is in at most one place per cache level, in the set of its address";
    }
    if (!dirty_only_innermost(c, &c->l2, false) || !dirty_only_innermost(c, &c->llc, true)) {
        return "only the innermost level that holds a line may hold it dirty";
    }
    return NULL;
}
