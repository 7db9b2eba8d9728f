/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Coherence of the private caches: MESI by an exact directory. A core *holds* a
 * line that is in its L1 or L2. A line that one core holds is exclusive. If several
 * cores hold a line, all their copies are clean, and the LLC holds the bytes that
 * memory does not have. With one core these functions are not called.
 */
#include "front.h"

uint32_t mem_sys_others(const MemSys *m, const MemCpu *cpu, uint64_t line) {
    return mem_directory_holders(&m->directory, line) & ~(UINT32_C(1) << cpu->number);
}

static MemCpu *lowest(MemSys *m, uint32_t cores) { return &m->cpus[__builtin_ctz(cores)]; }

/* Take the line from another core; returns whether it was dirty there. */
static bool invalidate(MemSys *m, MemCpu *cpu, uint64_t line) {
    uint32_t slot;
    bool dirty = mem_cpu_drop_private(&cpu->caches, line, &slot);

    mem_sys_drop_slot(m, cpu, slot);
    mem_directory_remove(&m->directory, line, cpu->number);
    cpu->core.count->invalidations++;
    return dirty;
}

bool mem_sys_invalidate(MemSys *m, uint32_t cores, uint64_t line) {
    bool dirty = false;

    for (; cores; cores &= cores - 1) {
        dirty |= invalidate(m, lowest(m, cores), line);
    }
    return dirty;
}

bool mem_sys_clean_others(MemSys *m, uint32_t cores, uint64_t line) {
    bool dirty = false;

    for (; cores; cores &= cores - 1) {
        MemCpu *cpu = lowest(m, cores);
        uint32_t slot;
        if (mem_cpu_clean_private(&cpu->caches, line, &slot)) {
            dirty = true;
            mem_sys_drop_slot(m, cpu, slot);
        }
    }
    return dirty;
}

/* Let a load share the line; returns whether a core held it dirty. Only a sole holder can hold it dirty. */
static bool share(MemSys *m, uint32_t cores, uint64_t line) {
    MemCpu *cpu = lowest(m, cores);
    uint32_t slot;

    if ((cores & (cores - 1)) || !mem_cpu_clean_private(&cpu->caches, line, &slot)) {
        return false;
    }
    if (slot != MEM_NO_SLOT) {
        m->callbacks.l1_slot_shared(m->callbacks.opaque, cpu->number, slot);
    }
    return true;
}

/* The state of a missed line in other cores' private caches: they gave it up to a store, or share it with a load. */
typedef struct Asked {
    uint32_t others; /* cores that held the line, one bit each */
    bool dirty;      /* one of them held it dirty */
} Asked;

static Asked ask_others(MemSys *m, const MemCpu *cpu, const MemL1Miss *miss) {
    Asked asked = {.others = mem_sys_others(m, cpu, miss->line)};

    if (asked.others) {
        asked.dirty =
            miss->store ? mem_sys_invalidate(m, asked.others, miss->line) : share(m, asked.others, miss->line);
    }
    return asked;
}

/* Remove the lines that left the core's L2 from the directory, unless its L1 still holds them. */
static void note_left(MemSys *m, const MemCpu *cpu, const MemCpuFetch *fetch) {
    for (uint32_t i = 0; i < fetch->left_count; i++) {
        if (!mem_cpu_has_private(&cpu->caches, fetch->left[i])) {
            mem_directory_remove(&m->directory, fetch->left[i], cpu->number);
        }
    }
}

/* Whether another core gives the line: it held the line dirty, or the LLC does not hold the line. */
static bool is_given(const Asked *asked, const MemCpuFetch *fetch) {
    return asked->dirty || (asked->others && fetch->level == MEM_LEVEL_MEMORY);
}

/*
 * The operation for which the core waits because of other cores, or MEM_OP_NONE. `fetch` is the result of the look-up,
 * before another core gives the line.
 */
static MemOpKind op_with_others(const MemSys *m, const MemCpu *cpu, const MemL1Miss *miss, const Asked *asked,
                                bool streams, const MemCpuFetch *fetch) {
    if (is_given(asked, fetch)) {
        return miss->store ? MEM_OP_STORE_TRANSFER : streams ? MEM_OP_STREAM_TRANSFER : MEM_OP_TRANSFER;
    }
    if (asked->others && miss->store) {
        return MEM_OP_UPGRADE;
    }
    if (fetch->level == MEM_LEVEL_LLC && !fetch->prefetched &&
        mem_memory_is_under_way(&m->memory, &cpu->core, miss->line, cpu->now_ps)) {
        return miss->store ? MEM_OP_STORE_JOIN : streams ? MEM_OP_STREAM_JOIN : MEM_OP_JOIN;
    }
    return MEM_OP_NONE;
}

/* The line that left L1 may be in L2 still. */
static void note_victim(MemSys *m, MemCpu *cpu, const MemL1Miss *miss) {
    uint64_t left = mem_cpu_l1_victim(&cpu->caches, miss->line, miss->victim);

    if (!mem_cpu_has_private(&cpu->caches, left)) {
        mem_directory_remove(&m->directory, left, cpu->number);
    }
}

/* Leave the dirty bit with the core that stores, or with the LLC if several cores hold the line. */
static void pass_dirty(MemCpu *cpu, const MemL1Miss *miss, const Asked *asked, MemCpuFetch *fetch) {
    if (miss->store) {
        fetch->dirty |= asked->dirty | mem_cpu_clean_llc(&cpu->caches, miss->line);
    } else if (asked->others && (fetch->dirty || asked->dirty)) {
        fetch->dirty = false;
        mem_cpu_put_dirty_llc(&cpu->caches, miss->line, fetch);
    }
}

MemOpKind mem_sys_fetch_beside_others(MemSys *m, MemCpu *cpu, const MemL1Miss *miss, uint64_t l1_victim, bool streams,
                                      MemCpuFetch *fetch) {
    Asked asked = ask_others(m, cpu, miss);

    mem_cpu_fetch_beside_others(&cpu->caches, miss->line, l1_victim, fetch);
    MemOpKind op = op_with_others(m, cpu, miss, &asked, streams, fetch);
    mem_directory_add(&m->directory, miss->line, cpu->number);
    note_left(m, cpu, fetch);
    if (miss->victim.tag != MEM_NO_TAG) {
        note_victim(m, cpu, miss);
    }
    pass_dirty(cpu, miss, &asked, fetch);
    cpu->core.count->prefetches_used += op != MEM_OP_NONE && fetch->prefetched;
    fetch->level = is_given(&asked, fetch) ? MEM_LEVEL_OTHER : fetch->level;
    return op;
}

/* Whether no other core holds the line dirty. Only a sole holder can hold it dirty. */
static bool others_have_clean(MemSys *m, uint32_t others, uint64_t line) {
    return (others & (others - 1)) || !mem_cpu_is_dirty_private(&lowest(m, others)->caches, line);
}

/* The prefetcher takes no line from another core, and joins no request of another core. */
static bool may_prefetch(MemSys *m, const MemCpu *cpu, uint64_t line) {
    uint32_t others = mem_sys_others(m, cpu, line);

    if (others && !(others_have_clean(m, others, line) && mem_cpu_has_clean_llc(&cpu->caches, line))) {
        return false;
    }
    return !mem_memory_is_under_way(&m->memory, &cpu->core, line, cpu->now_ps);
}

bool mem_sys_prefetch_beside_others(MemSys *m, MemCpu *cpu, uint64_t line, MemCpuFetch *fetch) {
    if (!may_prefetch(m, cpu, line)) {
        return false;
    }
    mem_cpu_prefetch(&cpu->caches, line, fetch);
    if (fetch->level != MEM_LEVEL_L2) {
        mem_directory_add(&m->directory, line, cpu->number);
        note_left(m, cpu, fetch);
    }
    return true;
}

bool mem_sys_own(MemSys *m, MemCpu *cpu, uint64_t line, bool *dirtied) {
    uint32_t others = mem_sys_others(m, cpu, line);

    *dirtied = !mem_cpu_clean_llc(&cpu->caches, line);
    mem_sys_invalidate(m, others, line);
    return others != 0;
}

/* ---- Laws ---- */

typedef struct Held {
    const MemSys *m;
    const MemCpu *cpu;
    uint64_t count;
    const char *broken;
} Held;

static void look_up_held(void *opaque, uint64_t line) {
    Held *h = opaque;
    uint32_t holders = mem_directory_holders(&h->m->directory, line), self = UINT32_C(1) << h->cpu->number;

    h->count++;
    if (!(holders & self)) {
        h->broken = "the directory knows the holders of a line";
    } else if (mem_cpu_is_dirty_private(&h->cpu->caches, line) &&
               (holders != self || mem_cpu_is_dirty_llc(&h->cpu->caches, line))) {
        h->broken = "a line has at most one dirty copy, and the holder of the dirty copy is the only holder";
    }
}

const char *mem_sys_check_coherence(const MemSys *m) {
    Held h = {.m = m};

    for (uint32_t i = 0; i < m->cpu_count; i++) {
        h.cpu = &m->cpus[i];
        mem_cpu_visit_private(&h.cpu->caches, look_up_held, &h);
    }
    if (!h.broken && h.count != m->directory.count) {
        return "the directory knows of no line that its core does not hold";
    }
    return h.broken;
}
