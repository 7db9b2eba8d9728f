/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The front: which cache level an access finds its line in, and what it asks
 * of memory because of that. Nothing here depends on time.
 */
#include "front.h"

#include "base/seeded_bug.h"

static_assert(MEMSYS_LINE_BYTES == 1u << LINE_SHIFT, "a line is 64 bytes");

static mem_ps issue(MemSys *m, const MemOperation *op, mem_ps at_ps) {
    mem_ps stall_ps = mem_memory_op(&m->memory, op, at_ps);

    if (m->observer) {
        m->observer->operation(m->observer->opaque, op, at_ps, stall_ps);
    }
    if (!op->with_previous) {
        m->resumes_ps = at_ps + stall_ps;
    }
    return at_ps + stall_ps;
}

mem_ps mem_sys_op(MemSys *m, MemOpKind kind, uint64_t line, mem_ps at_ps) {
    return issue(m, &(MemOperation){.kind = kind, .line = line, .byte_mask = UINT64_MAX}, at_ps);
}

static mem_ps send_buffer(MemSys *m, uint32_t buffer, mem_ps at_ps) {
    const MemWcBuffer *b = &m->wc.buffers[buffer];
    MemOperation op = {.kind = MEM_OP_NT_SEND, .line = b->line, .byte_mask = b->written};

    mem_wc_sent(&m->wc, buffer);
    return issue(m, &op, at_ps);
}

/* Returns when the CPU goes on: it may have had to wait at the end of its window. */
static mem_ps send_buffer_of(MemSys *m, uint64_t line, mem_ps at_ps) {
    uint32_t buffer = mem_wc_find(&m->wc, line);
    return buffer == MEM_NO_BUFFER ? at_ps : send_buffer(m, buffer, at_ps);
}

mem_ps mem_sys_send_wc_buffers(MemSys *m, mem_ps at_ps) {
    while (m->wc.open_count) {
        at_ps = send_buffer(m, mem_wc_oldest(&m->wc), at_ps);
    }
    return at_ps;
}

/* ---- Loads and stores ---- */

/* The operations of one access: the first waits for what the CPU has under way, the others come with it. */
typedef struct Chain {
    mem_ps at_ps; /* when the CPU goes on */
    bool begun;
} Chain;

static void chain_op(MemSys *m, Chain *chain, MemOpKind kind, uint64_t line) {
    MemOperation op = {.kind = kind, .with_previous = chain->begun, .line = line, .byte_mask = UINT64_MAX};

    chain->at_ps = issue(m, &op, chain->at_ps);
    chain->begun = true;
}

static void evict_victims(MemSys *m, Chain *chain, const MemCpuFetch *fetch) {
    for (uint32_t i = 0; i < fetch->victim_count; i++) {
        chain_op(m, chain, MEM_OP_EVICT, fetch->victims[i]);
    }
}

static void prefetch_ahead(MemSys *m, Chain *chain, const MemStreamStep *step) {
    uint64_t line = step->prefetch_line;

    for (uint32_t i = 0; i < step->prefetch_count; i++, line += (uint64_t)(int64_t)step->prefetch_step) {
        MemCpuFetch fetch;
        if (m->wc.open_count && mem_wc_find(&m->wc, line) != MEM_NO_BUFFER) {
            continue; /* its newest bytes are on their way out */
        }
        mem_cpu_prefetch(&m->cpu, line, &fetch);
        if (fetch.level == MEM_LEVEL_MEMORY) {
            chain_op(m, chain, MEM_OP_PREFETCH, line);
        }
        evict_victims(m, chain, &fetch);
    }
}

/* What is done about the latency of a miss: a store's or an independent load's is hidden as far as it can be. */
typedef enum Waits { WAITS, STREAMS, POSTED } Waits;

static Waits waits_of(const MemSys *m, bool store, bool independent) {
    if (store) {
        return m->stores_posted ? POSTED : WAITS;
    }
    return m->overlap == MEM_OVERLAP_ALL || (m->overlap == MEM_OVERLAP_STREAMS && independent) ? STREAMS : WAITS;
}

/* The operation that brings the line, by where it is and who waits for it; MEM_OP_KINDS: none. */
static MemOpKind fetch_op(const MemCpuFetch *fetch, bool store, Waits waits) {
    bool touch = fetch->level != MEM_LEVEL_MEMORY;

    if (touch && !fetch->prefetched) {
        return MEM_OP_KINDS;
    }
    if (store) {
        return touch ? MEM_OP_STORE_TOUCH : MEM_OP_STORE;
    }
    if (waits == STREAMS) {
        return touch ? MEM_OP_STREAM_TOUCH : MEM_OP_STREAM_LOAD;
    }
    return touch ? MEM_OP_TOUCH : MEM_OP_LOAD;
}

mem_ps mem_sys_beyond_l1(MemSys *m, const MemL1Miss *miss, mem_ps at_ps, bool *dirty) {
    MemCounters *count = m->memory.count;
    MemStreamStep step = mem_streams_miss(&m->streams, miss->line);
    Waits waits = waits_of(m, miss->store, step.independent);
    Chain chain = {.at_ps = at_ps};
    uint64_t victim = miss->victim.dirty ? mem_cpu_l1_victim(&m->cpu, miss->line, miss->victim) : MEM_NO_LINE;
    MemCpuFetch fetch;

    mem_cpu_fetch(&m->cpu, miss->line, victim, &fetch);
    *dirty = fetch.dirty;
    count->l1_misses++;
    count->l2_misses += fetch.level != MEM_LEVEL_L2;
    count->llc_misses += fetch.level == MEM_LEVEL_MEMORY;
    count->stream_loads += waits == STREAMS;
    MemOpKind op = fetch_op(&fetch, miss->store, waits);
    if (op != MEM_OP_KINDS) {
        chain_op(m, &chain, op, miss->line);
    }
    evict_victims(m, &chain, &fetch);
    prefetch_ahead(m, &chain, &step);
    if (fetch.level != MEM_LEVEL_MEMORY && waits == WAITS) {
        mem_ps latency_ps = fetch.level == MEM_LEVEL_L2 ? m->l2_ps : m->llc_ps;
        count->stall_cache_ps += latency_ps;
        chain.at_ps += latency_ps;
    }
    m->resumes_ps = chain.at_ps;
    return chain.at_ps;
}

static void save_preimage(MemSys *m, uint64_t line, mem_ps now_ps) {
    uint64_t device_line;
    MemDevice *d = mem_memory_route(&m->memory, line, &device_line);
    if (d) {
        mem_persist_dirtied(&d->persist, device_line, now_ps);
    }
}

static mem_ps access_line(MemSys *m, uint64_t hpa, bool store, mem_ps now_ps, uint32_t *slot) {
    uint64_t line = mem_sys_line(m, hpa);
    MemL1Miss miss;
    bool dirtied;

    now_ps = mem_sys_enter(m, now_ps);
    mem_ps at_ps = m->wc.open_count ? send_buffer_of(m, line, now_ps) : now_ps;
    if (mem_sys_access_l1(m, line, store, &miss, &dirtied)) {
        bool dirty;
        if (miss.victim.tag != MEM_NO_TAG) {
            mem_sys_drop_slot(m, miss.slot);
        }
        mem_cpu_expect(&m->cpu, line);
        at_ps = mem_sys_beyond_l1(m, &miss, at_ps, &dirty);
        dirtied = store && !dirty;
        if (dirty) {
            mem_cpu_l1_dirty(&m->cpu, miss.slot);
        }
    }
    *slot = miss.slot;
    if (dirtied) {
        save_preimage(m, line, now_ps);
    }
    return at_ps - now_ps;
}

mem_ps memsys_load(MemSys *m, uint64_t hpa, mem_ps now_ps, uint32_t *slot) {
    m->memory.count->loads++;
    return access_line(m, hpa, false, now_ps, slot);
}

mem_ps memsys_store(MemSys *m, uint64_t hpa, mem_ps now_ps, uint32_t *slot) {
    m->memory.count->stores++;
    return access_line(m, hpa, true, now_ps, slot);
}

/* ---- Non-temporal stores ---- */

/* Push a line out of the caches before it is gathered in a buffer. */
static mem_ps evict_line(MemSys *m, uint64_t line, mem_ps at_ps) {
    uint32_t slot;
    bool dirty = mem_cpu_drop(&m->cpu, line, &slot);

    mem_sys_drop_slot(m, slot);
    return dirty ? mem_sys_op(m, MEM_OP_WRITE_BACK, line, at_ps) : at_ps;
}

/* Open a buffer for a line; `*buffer` can take it when the CPU goes on. */
static mem_ps open_buffer(MemSys *m, uint64_t line, mem_ps at_ps, uint32_t *buffer) {
    if (m->wc.open_count == m->wc.count) {
        at_ps = send_buffer(m, mem_wc_oldest(&m->wc), at_ps);
    }
    at_ps = mem_sys_op(m, MEM_OP_NT_OPEN, line, at_ps);
    *buffer = mem_wc_open(&m->wc, line);
    save_preimage(m, line, m->now_ps);
    return at_ps;
}

mem_ps memsys_nt_store(MemSys *m, uint64_t hpa, uint32_t size_bytes, mem_ps now_ps) {
    uint64_t line = mem_sys_line(m, hpa);
    uint32_t offset_bytes = (uint32_t)(hpa & (MEMSYS_LINE_BYTES - 1));

    now_ps = mem_sys_enter(m, now_ps);
    mem_ps at_ps = now_ps;
    uint32_t buffer = mem_wc_find(&m->wc, line);
    m->memory.count->nt_stores++;
    if (buffer == MEM_NO_BUFFER) {
        at_ps = evict_line(m, line, at_ps);
        at_ps = open_buffer(m, line, at_ps, &buffer);
    }
    if (mem_wc_fill(&m->wc, buffer, offset_bytes, size_bytes)) {
        at_ps = send_buffer(m, buffer, at_ps);
    }
    return at_ps - now_ps;
}

/* ---- Flushes and fences ---- */

mem_ps memsys_flush(MemSys *m, uint64_t hpa, MemFlushKind kind, mem_ps now_ps) {
    uint64_t line = mem_sys_line(m, hpa);
    uint32_t slot = MEM_NO_SLOT;
    bool dirty = false;

    now_ps = mem_sys_enter(m, now_ps);
    m->memory.count->flushes++;
    mem_ps at_ps = send_buffer_of(m, line, now_ps);
    if (kind != MEM_CLWB || !m->clwb_keeps_line) {
        dirty = mem_cpu_drop(&m->cpu, line, &slot);
    } else if (!MEM_HAS_BUG(MEM_BUG_CLWB_KEEPS_DIRTY)) {
        dirty = mem_cpu_clean(&m->cpu, line, &slot);
    }
    mem_sys_drop_slot(m, slot);
    at_ps = mem_sys_op(m, dirty ? MEM_OP_WRITE_BACK : MEM_OP_CLEAN_FLUSH, line, at_ps);
    if (kind == MEM_CLFLUSH) {
        at_ps = mem_sys_op(m, MEM_OP_FLUSH_WAIT, line, at_ps);
    }
    return at_ps - now_ps;
}

mem_ps memsys_fence(MemSys *m, MemFenceKind kind, mem_ps now_ps) {
    static const MemOpKind ops[] = {
        [MEM_SFENCE] = MEM_OP_STORE_FENCE,
        [MEM_LFENCE] = MEM_OP_LOAD_FENCE,
        [MEM_MFENCE] = MEM_OP_FULL_FENCE,
        [MEM_SERIALIZE] = MEM_OP_SERIALIZE,
    };

    now_ps = mem_sys_enter(m, now_ps);
    mem_ps at_ps = now_ps;
    if (kind == MEM_SFENCE || kind == MEM_MFENCE) {
        m->memory.count->fences++;
        at_ps = mem_sys_send_wc_buffers(m, at_ps);
    }
    return mem_sys_op(m, ops[kind], 0, at_ps) - now_ps;
}

mem_ps memsys_pause(const MemSys *m) { return m->pause_ps; }

static bool serializes(MemInsn insn) {
    return insn != MEM_INSN_RDMSR && insn != MEM_INSN_RDTSC && insn != MEM_INSN_WRMSR_RELAXED;
}

mem_ps memsys_instruction(MemSys *m, MemInsn insn, mem_ps now_ps) {
    now_ps = mem_sys_enter(m, now_ps);
    mem_ps at_ps = now_ps;
    if (serializes(insn)) {
        at_ps = mem_sys_op(m, MEM_OP_SERIALIZE, 0, mem_sys_send_wc_buffers(m, at_ps));
    }
    if (m->memory.timed) {
        at_ps += m->insn_ps[insn == MEM_INSN_WRMSR_RELAXED ? MEM_INSN_WRMSR : insn];
    }
    return at_ps - now_ps;
}

mem_ps memsys_barrier(MemSys *m, mem_ps now_ps) {
    now_ps = mem_sys_enter(m, now_ps);
    return mem_sys_op(m, MEM_OP_BARRIER, 0, now_ps) - now_ps;
}
