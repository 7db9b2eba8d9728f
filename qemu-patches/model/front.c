/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The front: it looks up the cache level that holds the line of an access, and
 * issues the operations on memory that follow from the level. Nothing here depends
 * on time.
 */
#include "front.h"

/*
 * The path of every access is compiled twice, by its last argument, so that the only core of most machines does not
 * look for other cores.
 */
#define INLINED static inline __attribute__((always_inline))

static_assert(MEMSYS_LINE_BYTES == 1u << LINE_SHIFT, "a line is 64 bytes");

static mem_ps issue(MemSys *m, MemCpu *cpu, const MemOperation *op, mem_ps at_ps) {
    mem_ps stall_ps = mem_memory_op(&m->memory, &cpu->core, op, at_ps);

    if (m->observer) {
        m->observer->operation(m->observer->opaque, op, at_ps, stall_ps);
    }
    if (!op->with_previous) {
        cpu->resumes_ps = at_ps + stall_ps;
    }
    return at_ps + stall_ps;
}

mem_ps mem_sys_op(MemSys *m, MemCpu *cpu, MemOpKind kind, uint64_t line, mem_ps at_ps) {
    return issue(m, cpu, &(MemOperation){.kind = kind, .line = line, .byte_mask = UINT64_MAX}, at_ps);
}

static mem_ps send_buffer(MemSys *m, MemCpu *cpu, uint32_t buffer, mem_ps at_ps) {
    const MemWcBuffer *b = &cpu->wc.buffers[buffer];
    MemOperation op = {.kind = MEM_OP_NT_SEND, .line = b->line, .byte_mask = b->written};

    mem_wc_sent(&cpu->wc, buffer);
    return issue(m, cpu, &op, at_ps);
}

/* If other cores gather bytes of the line, they send their buffers, and do not wait. */
static void send_buffers_of_others(MemSys *m, const MemCpu *cpu, uint64_t line, mem_ps at_ps) {
    for (uint32_t i = 0; i < m->cpu_count; i++) {
        MemCpu *other = &m->cpus[i];
        uint32_t buffer = mem_wc_find(&other->wc, line);
        if (other != cpu && buffer != MEM_NO_BUFFER) {
            mem_sys_send_for_other(m, other, buffer, at_ps);
        }
    }
}

void mem_sys_send_for_other(MemSys *m, MemCpu *cpu, uint32_t buffer, mem_ps at_ps) {
    const MemWcBuffer *b = &cpu->wc.buffers[buffer];
    MemOperation op = {.kind = MEM_OP_NT_SEND, .line = b->line, .byte_mask = b->written};

    mem_wc_sent(&cpu->wc, buffer);
    mem_memory_send_for_other(&m->memory, &cpu->core, &op, at_ps);
}

/* Send every buffer of the line; returns when the CPU goes on, since it may wait at the end of its window. */
static mem_ps send_buffer_of(MemSys *m, MemCpu *cpu, uint64_t line, mem_ps at_ps) {
    uint32_t buffer = mem_wc_find(&cpu->wc, line);
    if (mem_sys_has_others(m)) {
        send_buffers_of_others(m, cpu, line, at_ps);
    }
    return buffer == MEM_NO_BUFFER ? at_ps : send_buffer(m, cpu, buffer, at_ps);
}

mem_ps mem_sys_send_wc_buffers(MemSys *m, MemCpu *cpu, mem_ps at_ps) {
    while (cpu->wc.open_count) {
        at_ps = send_buffer(m, cpu, mem_wc_oldest(&cpu->wc), at_ps);
    }
    return at_ps;
}

/* ---- Loads and stores ---- */

/* The operations of one access: the first waits for operations under way, the others are issued with it. */
typedef struct Chain {
    mem_ps at_ps; /* when the CPU goes on */
    bool begun;
} Chain;

static void chain_op(MemSys *m, MemCpu *cpu, Chain *chain, MemOpKind kind, uint64_t line) {
    MemOperation op = {.kind = kind, .with_previous = chain->begun, .line = line, .byte_mask = UINT64_MAX};

    chain->at_ps = issue(m, cpu, &op, chain->at_ps);
    chain->begun = true;
}

static void evict_victims(MemSys *m, MemCpu *cpu, Chain *chain, const MemCpuFetch *fetch) {
    for (uint32_t i = 0; i < fetch->victim_count; i++) {
        chain_op(m, cpu, chain, MEM_OP_EVICT, fetch->victims[i]);
    }
}

/* Whether a WC buffer of this core holds bytes of the line. */
INLINED bool is_gathered_by(const MemCpu *cpu, uint64_t line) {
    return cpu->wc.open_count && mem_wc_find(&cpu->wc, line) != MEM_NO_BUFFER;
}

INLINED bool is_gathered(const MemSys *m, const MemCpu *cpu, uint64_t line, bool others) {
    if (!others) {
        return is_gathered_by(cpu, line);
    }
    for (uint32_t i = 0; i < m->cpu_count; i++) {
        if (is_gathered_by(&m->cpus[i], line)) {
            return true;
        }
    }
    return false;
}

INLINED void prefetch_ahead(MemSys *m, MemCpu *cpu, Chain *chain, const MemStreamStep *step, bool others) {
    uint64_t line = step->prefetch_line;

    for (uint32_t i = 0; i < step->prefetch_count; i++, line += (uint64_t)(int64_t)step->prefetch_step) {
        MemCpuFetch fetch;
        if (is_gathered(m, cpu, line, others)) {
            continue; /* a WC buffer still has to send its newest bytes */
        }
        if (!others) {
            mem_cpu_prefetch(&cpu->caches, line, &fetch);
        } else if (!mem_sys_prefetch_beside_others(m, cpu, line, &fetch)) {
            continue;
        }
        if (fetch.level == MEM_LEVEL_MEMORY) {
            chain_op(m, cpu, chain, MEM_OP_PREFETCH, line);
        }
        evict_victims(m, cpu, chain, &fetch);
    }
}

/*
 * Whether the CPU waits for a miss. The latency of a store (POSTED) or of an independent load (STREAMS) is hidden as
 * far as possible.
 */
typedef enum Waits { WAITS, STREAMS, POSTED } Waits;

static Waits waits_of(const MemSys *m, const MemCpu *cpu, bool store, bool independent, bool others) {
    if (store) {
        return m->stores_posted && !(others && cpu->core.store_waits) ? POSTED : WAITS;
    }
    return m->overlap == MEM_OVERLAP_ALL || (m->overlap == MEM_OVERLAP_STREAMS && independent) ? STREAMS : WAITS;
}

/* The operation that brings the line, by the level that holds the line and by the access that waits for it. */
static MemOpKind fetch_op(const MemCpuFetch *fetch, bool store, Waits waits) {
    bool touch = fetch->level != MEM_LEVEL_MEMORY;

    if (touch && !fetch->prefetched) {
        return MEM_OP_NONE;
    }
    if (store) {
        return touch ? MEM_OP_STORE_TOUCH : MEM_OP_STORE;
    }
    if (waits == STREAMS) {
        return touch ? MEM_OP_STREAM_TOUCH : MEM_OP_STREAM_LOAD;
    }
    return touch ? MEM_OP_TOUCH : MEM_OP_LOAD;
}

INLINED mem_ps beyond_l1(MemSys *m, MemCpu *cpu, const MemL1Miss *miss, mem_ps at_ps, bool *dirty, bool others) {
    MemCounters *count = cpu->core.count;
    MemStreamStep step = mem_streams_miss(&cpu->streams, miss->line);
    Waits waits = waits_of(m, cpu, miss->store, step.independent, others);
    Chain chain = {.at_ps = at_ps};
    uint64_t victim = miss->victim.dirty ? mem_cpu_l1_victim(&cpu->caches, miss->line, miss->victim) : MEM_NO_LINE;
    MemCpuFetch fetch;
    MemOpKind op = MEM_OP_NONE;

    if (others) {
        op = mem_sys_fetch_beside_others(m, cpu, miss, victim, waits == STREAMS, &fetch);
    } else {
        mem_cpu_fetch(&cpu->caches, miss->line, victim, &fetch);
    }
    *dirty = fetch.dirty;
    count->l1_misses++;
    count->l2_misses += fetch.level != MEM_LEVEL_L2;
    count->llc_misses += fetch.level == MEM_LEVEL_MEMORY;
    count->stream_loads += waits == STREAMS;
    op = op == MEM_OP_NONE ? fetch_op(&fetch, miss->store, waits) : op;
    if (op != MEM_OP_NONE) {
        chain_op(m, cpu, &chain, op, miss->line);
    }
    evict_victims(m, cpu, &chain, &fetch);
    prefetch_ahead(m, cpu, &chain, &step, others);
    if (fetch.level < MEM_LEVEL_MEMORY && waits == WAITS) {
        mem_ps latency_ps = fetch.level == MEM_LEVEL_L2 ? m->l2_ps : m->llc_ps;
        count->stall_cache_ps += latency_ps;
        chain.at_ps += latency_ps;
    }
    cpu->resumes_ps = chain.at_ps;
    return chain.at_ps;
}

mem_ps mem_sys_beyond_l1(MemSys *m, const MemL1Miss *miss, mem_ps at_ps, bool *dirty) {
    return beyond_l1(m, &m->cpus[0], miss, at_ps, dirty, false);
}

static void save_preimage(MemSys *m, uint64_t line, mem_ps now_ps) {
    uint64_t device_line;
    MemDevice *d = mem_memory_route(&m->memory, line, &device_line);
    if (d) {
        mem_persist_dirtied(&d->persist, device_line, now_ps);
    }
}

INLINED mem_ps access_line(MemSys *m, MemCpu *cpu, uint64_t hpa, bool store, mem_ps now_ps, uint32_t *slot,
                           bool others) {
    uint64_t line = mem_sys_line(m, hpa);
    MemL1Miss miss;
    bool dirtied;

    *(store ? &cpu->core.count->stores : &cpu->core.count->loads) += 1;
    now_ps = others ? mem_sys_enter(m, cpu, now_ps) : mem_sys_enter_alone(m, cpu, now_ps);
    mem_ps at_ps = cpu->wc.open_count || others ? send_buffer_of(m, cpu, line, now_ps) : now_ps;
    if (mem_sys_access_l1(cpu, line, store, &miss, &dirtied)) {
        bool dirty;
        if (miss.victim.tag != MEM_NO_TAG) {
            mem_sys_drop_slot(m, cpu, miss.slot);
        }
        mem_cpu_expect(&cpu->caches, line);
        at_ps = beyond_l1(m, cpu, &miss, at_ps, &dirty, others);
        dirtied = store && !dirty;
        if (dirty) {
            mem_cpu_l1_dirty(&cpu->caches, miss.slot);
        }
    } else if (dirtied && others && mem_sys_own(m, cpu, line, &dirtied)) {
        at_ps = mem_sys_op(m, cpu, MEM_OP_UPGRADE, line, at_ps);
    }
    *slot = miss.slot;
    if (dirtied) {
        save_preimage(m, line, now_ps);
    }
    return at_ps - now_ps;
}

static __attribute__((noinline)) mem_ps access_alone(MemSys *m, uint64_t hpa, bool store, mem_ps now_ps,
                                                     uint32_t *slot) {
    return access_line(m, &m->cpus[0], hpa, store, now_ps, slot, false);
}

static __attribute__((noinline, cold)) mem_ps access_beside_others(MemSys *m, uint32_t core, uint64_t hpa, bool store,
                                                                   mem_ps now_ps, uint32_t *slot) {
    return access_line(m, mem_sys_cpu(m, core), hpa, store, now_ps, slot, true);
}

mem_ps memsys_load(MemSys *m, uint32_t core, uint64_t hpa, mem_ps now_ps, uint32_t *slot) {
    return mem_sys_has_others(m) ? access_beside_others(m, core, hpa, false, now_ps, slot)
                                 : access_alone(m, hpa, false, now_ps, slot);
}

mem_ps memsys_store(MemSys *m, uint32_t core, uint64_t hpa, mem_ps now_ps, uint32_t *slot) {
    return mem_sys_has_others(m) ? access_beside_others(m, core, hpa, true, now_ps, slot)
                                 : access_alone(m, hpa, true, now_ps, slot);
}

mem_ps memsys_locked(MemSys *m, uint32_t core, uint64_t hpa, bool store, mem_ps now_ps, uint32_t *slot) {
    if (!mem_sys_has_others(m)) {
        return access_alone(m, hpa, store, now_ps, slot);
    }
    MemCpu *cpu = mem_sys_cpu(m, core);
    cpu->core.store_waits = true;
    mem_ps stall_ps = access_beside_others(m, core, hpa, true, now_ps, slot);
    cpu->core.store_waits = false;
    cpu->core.count->stores -= !store; /* it was a load, although it requested the line as a store does */
    cpu->core.count->loads += !store;
    return stall_ps;
}

/* ---- Non-temporal stores ---- */

/* Push a line out of the caches before a buffer gathers it. */
static mem_ps evict_line(MemSys *m, MemCpu *cpu, uint64_t line, mem_ps at_ps) {
    uint32_t slot;
    bool dirty = mem_cpu_drop(&cpu->caches, line, &slot);

    mem_sys_drop_slot(m, cpu, slot);
    if (mem_sys_has_others(m)) {
        mem_directory_remove(&m->directory, line, cpu->number);
        dirty |= mem_sys_invalidate(m, mem_sys_others(m, cpu, line), line);
    }
    return dirty ? mem_sys_op(m, cpu, MEM_OP_WRITE_BACK, line, at_ps) : at_ps;
}

/* Open a buffer for a line; returns when the CPU goes on. `*buffer` can take bytes then. */
static mem_ps open_buffer(MemSys *m, MemCpu *cpu, uint64_t line, mem_ps at_ps, uint32_t *buffer) {
    if (cpu->wc.open_count == cpu->wc.count) {
        at_ps = send_buffer(m, cpu, mem_wc_oldest(&cpu->wc), at_ps);
    }
    at_ps = mem_sys_op(m, cpu, MEM_OP_NT_OPEN, line, at_ps);
    *buffer = mem_wc_open(&cpu->wc, line);
    save_preimage(m, line, cpu->now_ps);
    return at_ps;
}

mem_ps memsys_nt_store(MemSys *m, uint32_t core, uint64_t hpa, uint32_t size_bytes, mem_ps now_ps) {
    MemCpu *cpu = mem_sys_cpu(m, core);
    uint64_t line = mem_sys_line(m, hpa);
    uint32_t offset_bytes = (uint32_t)(hpa & (MEMSYS_LINE_BYTES - 1));

    now_ps = mem_sys_enter(m, cpu, now_ps);
    mem_ps at_ps = now_ps;
    uint32_t buffer = mem_wc_find(&cpu->wc, line);
    cpu->core.count->nt_stores++;
    if (buffer == MEM_NO_BUFFER) {
        if (mem_sys_has_others(m)) {
            send_buffers_of_others(m, cpu, line, at_ps);
        }
        at_ps = evict_line(m, cpu, line, at_ps);
        at_ps = open_buffer(m, cpu, line, at_ps, &buffer);
    }
    if (mem_wc_fill(&cpu->wc, buffer, offset_bytes, size_bytes)) {
        at_ps = send_buffer(m, cpu, buffer, at_ps);
    }
    return at_ps - now_ps;
}

/* ---- Flushes and fences ---- */

mem_ps memsys_flush(MemSys *m, uint32_t core, uint64_t hpa, MemFlushKind kind, mem_ps now_ps) {
    MemCpu *cpu = mem_sys_cpu(m, core);
    uint64_t line = mem_sys_line(m, hpa);
    uint32_t slot = MEM_NO_SLOT;
    bool keeps = kind == MEM_CLWB && m->clwb_keeps_line, dirty = false;

    now_ps = mem_sys_enter(m, cpu, now_ps);
    cpu->core.count->flushes++;
    mem_ps at_ps = send_buffer_of(m, cpu, line, now_ps);
    if (!keeps) {
        dirty = mem_cpu_drop(&cpu->caches, line, &slot);
    } else {
        dirty = mem_cpu_clean(&cpu->caches, line, &slot);
    }
    mem_sys_drop_slot(m, cpu, slot);
    if (mem_sys_has_others(m)) {
        uint32_t others = mem_sys_others(m, cpu, line);
        dirty |= keeps ? mem_sys_clean_others(m, others, line) : mem_sys_invalidate(m, others, line);
    }
    if (mem_sys_has_others(m) && !keeps) {
        mem_directory_remove(&m->directory, line, cpu->number);
    }
    at_ps = mem_sys_op(m, cpu, dirty ? MEM_OP_WRITE_BACK : MEM_OP_CLEAN_FLUSH, line, at_ps);
    if (kind == MEM_CLFLUSH) {
        at_ps = mem_sys_op(m, cpu, MEM_OP_FLUSH_WAIT, line, at_ps);
    }
    return at_ps - now_ps;
}

mem_ps memsys_fence(MemSys *m, uint32_t core, MemFenceKind kind, mem_ps now_ps) {
    MemCpu *cpu = mem_sys_cpu(m, core);
    static const MemOpKind ops[] = {
        [MEM_SFENCE] = MEM_OP_STORE_FENCE, [MEM_LFENCE] = MEM_OP_LOAD_FENCE,   [MEM_MFENCE] = MEM_OP_FULL_FENCE,
        [MEM_LOCKED] = MEM_OP_FULL_FENCE,  [MEM_SERIALIZE] = MEM_OP_SERIALIZE,
    };

    now_ps = mem_sys_enter(m, cpu, now_ps);
    mem_ps at_ps = now_ps;
    if (kind != MEM_LFENCE && kind != MEM_SERIALIZE) {
        cpu->core.count->fences++;
        at_ps = mem_sys_send_wc_buffers(m, cpu, at_ps);
    }
    at_ps = mem_sys_op(m, cpu, ops[kind], 0, at_ps);
    if (kind == MEM_LOCKED && m->memory.timed) {
        at_ps += m->lock_ps;
    }
    return at_ps - now_ps;
}

mem_ps memsys_pause(const MemSys *m, uint32_t core) {
    assert(core < m->cpu_count);
    (void)core;
    return m->pause_ps;
}

mem_ps memsys_ipi(const MemSys *m) { return m->ipi_ps; }

static bool serializes(MemInsn insn) {
    return insn != MEM_INSN_RDMSR && insn != MEM_INSN_RDTSC && insn != MEM_INSN_WRMSR_RELAXED;
}

mem_ps memsys_instruction(MemSys *m, uint32_t core, MemInsn insn, mem_ps now_ps) {
    MemCpu *cpu = mem_sys_cpu(m, core);
    now_ps = mem_sys_enter(m, cpu, now_ps);
    mem_ps at_ps = now_ps;
    if (serializes(insn)) {
        at_ps = mem_sys_op(m, cpu, MEM_OP_SERIALIZE, 0, mem_sys_send_wc_buffers(m, cpu, at_ps));
    }
    if (m->memory.timed) {
        at_ps += m->insn_ps[insn == MEM_INSN_WRMSR_RELAXED ? MEM_INSN_WRMSR : insn];
    }
    return at_ps - now_ps;
}

mem_ps memsys_barrier(MemSys *m, uint32_t core, mem_ps now_ps) {
    MemCpu *cpu = mem_sys_cpu(m, core);
    now_ps = mem_sys_enter(m, cpu, now_ps);
    return mem_sys_op(m, cpu, MEM_OP_BARRIER, 0, now_ps) - now_ps;
}
