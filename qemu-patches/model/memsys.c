/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Composition: which parts an access passes, what it waits for, what it counts. */
#include "memsys_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "mem_alloc.h"
#include "seeded_bug.h"

#define LINE_SHIFT 6

static_assert(MEMSYS_LINE_BYTES == 1u << LINE_SHIFT, "a line is 64 bytes");

static void use_mode(MemSys *m, bool timed) {
    m->timed = timed;
    m->active = timed ? m->configured : (MemLatencies){0};
    m->count = timed ? &m->counters : &m->ignored;
    m->fence_until_ps = 0;
}

MemSys *memsys_new(const MemCpuConfig *cpu, const MemDeviceConfig *device, uint8_t *media, const MemCallbacks *cb) {
    assert(!memsys_check_cpu(cpu) && (!device || (!memsys_check_device(device) && media)));
    MemSys *m = mem_calloc(1, sizeof(*m));

    mem_cpu_init(&m->cpu, cpu);
    mem_wc_init(&m->wc, cpu->wc_buffers);
    mem_dram_init(&m->dram, cpu);
    if (device) {
        m->device = mem_calloc(1, sizeof(*m->device));
        mem_device_init(m->device, device, media, cb);
    }
    m->configured = (MemLatencies){.l2_ps = cpu->l2.latency_ps, .llc_ps = cpu->llc.latency_ps};
    m->callbacks = *cb;
    use_mode(m, false);
    return m;
}

void memsys_free(MemSys *m) {
    if (!m) {
        return;
    }
    mem_cpu_destroy(&m->cpu);
    mem_wc_destroy(&m->wc);
    if (m->device) {
        mem_device_destroy(m->device);
        free(m->device);
    }
    free(m);
}

uint32_t memsys_l1_slots(const MemSys *m) { return mem_fifo_slots(&m->cpu.l1); }

/* Every call passes here first: what was due by now happens. Time does not go back. */
static mem_ps enter(MemSys *m, mem_ps now_ps) {
    m->now_ps = mem_later(m->now_ps, now_ps);
    if (m->device) {
        mem_persist_run(&m->device->persist, m->now_ps);
    }
    return m->now_ps;
}

static void drop_slot(MemSys *m, uint32_t slot) {
    if (slot != MEM_NO_SLOT) {
        m->callbacks.l1_slot_dropped(m->callbacks.opaque, slot);
    }
}

/* Send a line to where it lives. */
static MemWriteTimes write_line(MemSys *m, uint64_t line, mem_ps at_ps, bool capture_later) {
    uint64_t device_line;

    if (mem_to_device_line(m, line, &device_line)) {
        return mem_device_write(m->device, m->count, device_line, MEM_ALL_BYTES, at_ps, capture_later);
    }
    mem_ps accepted_ps = mem_dram_write(&m->dram, at_ps);
    m->count->dram_writes++;
    return (MemWriteTimes){.left_ps = accepted_ps, .accepted_ps = accepted_ps, .completed_ps = accepted_ps};
}

/* The same, by something that the next fence waits for. */
static MemWriteTimes write_ordered(MemSys *m, uint64_t line, mem_ps at_ps, bool capture_later) {
    MemWriteTimes t = write_line(m, line, at_ps, capture_later);
    m->fence_until_ps = mem_later(m->fence_until_ps, t.completed_ps);
    return t;
}

static void send_buffer(MemSys *m, uint32_t buffer, mem_ps at_ps, bool capture_later) {
    MemWriteTimes t = write_ordered(m, m->wc.buffers[buffer].line, at_ps, capture_later);
    mem_wc_sent(&m->wc, buffer, t.left_ps);
}

static void send_buffer_of(MemSys *m, uint64_t line, mem_ps at_ps) {
    uint32_t buffer = mem_wc_find(&m->wc, line);
    if (buffer != MEM_NO_BUFFER) {
        send_buffer(m, buffer, at_ps, false);
    }
}

static void send_all_buffers(MemSys *m, mem_ps at_ps) {
    while (m->wc.open_count) {
        send_buffer(m, mem_wc_oldest(&m->wc), at_ps, false);
    }
}

/* ---- Loads and stores ---- */

static mem_ps memory_stall(MemSys *m, uint64_t line, mem_ps now_ps) {
    uint64_t device_line;
    mem_ps at_ps = now_ps + m->active.llc_ps; /* the miss is known only after the look-up */
    mem_ps stall_ps;

    if (mem_to_device_line(m, line, &device_line)) {
        MemReadTimes t = mem_device_read(m->device, m->count, device_line, at_ps);
        stall_ps = t.done_ps - now_ps;
        *(t.hit ? &m->count->stall_cxl_hit_ps : &m->count->stall_cxl_miss_ps) += stall_ps;
    } else {
        stall_ps = mem_dram_read(&m->dram, at_ps) - now_ps;
        m->count->dram_reads++;
        m->count->stall_dram_ps += stall_ps;
    }
    return stall_ps;
}

static mem_ps miss_stall(MemSys *m, uint64_t line, MemLevel level, mem_ps now_ps) {
    m->count->l1_misses++;
    if (level == MEM_LEVEL_L2) {
        m->count->stall_cache_ps += m->active.l2_ps;
        return m->active.l2_ps;
    }
    m->count->l2_misses++;
    if (level == MEM_LEVEL_LLC) {
        m->count->stall_cache_ps += m->active.llc_ps;
        return m->active.llc_ps;
    }
    m->count->llc_misses++;
    return memory_stall(m, line, now_ps);
}

static void save_preimage(MemSys *m, uint64_t line, mem_ps now_ps) {
    uint64_t device_line;
    if (mem_to_device_line(m, line, &device_line)) {
        mem_persist_dirtied(&m->device->persist, device_line, now_ps);
    }
}

static mem_ps access_line(MemSys *m, uint64_t hpa, bool store, mem_ps now_ps, uint32_t *slot) {
    uint64_t line = hpa >> LINE_SHIFT;
    MemCpuAccess access;
    mem_ps stall_ps = 0;

    now_ps = enter(m, now_ps);
    send_buffer_of(m, line, now_ps);
    mem_cpu_access(&m->cpu, line, store, &access);
    *slot = access.slot;
    if (access.level != MEM_LEVEL_L1) {
        if (access.displaced) {
            drop_slot(m, access.slot);
        }
        stall_ps = miss_stall(m, line, access.level, now_ps);
        for (uint32_t i = 0; i < access.victim_count; i++) {
            write_line(m, access.victims[i], now_ps, false);
        }
    }
    if (access.dirtied) {
        save_preimage(m, line, now_ps);
    }
    return stall_ps;
}

mem_ps memsys_load(MemSys *m, uint64_t hpa, mem_ps now_ps, uint32_t *slot) {
    m->count->loads++;
    return access_line(m, hpa, false, now_ps, slot);
}

mem_ps memsys_store(MemSys *m, uint64_t hpa, mem_ps now_ps, uint32_t *slot) {
    m->count->stores++;
    return access_line(m, hpa, true, now_ps, slot);
}

/* ---- Non-temporal stores ---- */

/* A buffer for another line, and when it can take it. */
static uint32_t take_buffer(MemSys *m, uint64_t line, mem_ps now_ps, mem_ps *ready_ps) {
    uint32_t buffer = mem_wc_free(&m->wc, now_ps);

    *ready_ps = now_ps;
    if (buffer == MEM_NO_BUFFER) {
        if (m->wc.open_count == m->wc.count) {
            send_buffer(m, mem_wc_oldest(&m->wc), now_ps, false);
        }
        buffer = mem_wc_first_sent(&m->wc);
        *ready_ps = m->wc.buffers[buffer].busy_until_ps;
    }
    mem_wc_open(&m->wc, buffer, line);
    save_preimage(m, line, now_ps);
    return buffer;
}

/* Push a line out of the caches before it is gathered in a buffer. */
static void evict_line(MemSys *m, uint64_t line, mem_ps now_ps) {
    uint32_t slot;
    bool dirty = mem_cpu_drop(&m->cpu, line, &slot);

    drop_slot(m, slot);
    if (dirty) {
        write_ordered(m, line, now_ps, false);
    }
}

mem_ps memsys_nt_store(MemSys *m, uint64_t hpa, uint32_t size_bytes, mem_ps now_ps) {
    uint64_t line = hpa >> LINE_SHIFT;
    uint32_t offset_bytes = (uint32_t)(hpa & (MEMSYS_LINE_BYTES - 1));

    now_ps = enter(m, now_ps);
    mem_ps ready_ps = now_ps;
    uint32_t buffer = mem_wc_find(&m->wc, line);
    m->count->nt_stores++;
    if (buffer == MEM_NO_BUFFER) {
        evict_line(m, line, now_ps);
        buffer = take_buffer(m, line, now_ps, &ready_ps);
    }
    if (mem_wc_fill(&m->wc, buffer, offset_bytes, size_bytes)) {
        send_buffer(m, buffer, ready_ps, true);
    }
    m->resumes_ps = ready_ps;
    m->count->stall_fence_ps += ready_ps - now_ps;
    return ready_ps - now_ps;
}

/* ---- Flushes and fences ---- */

/* When all that was sent of a line so far is complete; 0 if it is. */
static mem_ps complete_at(const MemSys *m, uint64_t line, mem_ps now_ps) {
    uint64_t device_line;

    if (!mem_to_device_line(m, line, &device_line) || MEM_HAS_BUG(MEM_BUG_FENCE_SKIPS_EVICTED)) {
        return 0;
    }
    mem_ps accepted_ps = mem_persist_in_flight_until(&m->device->persist, device_line, now_ps);
    return accepted_ps ? mem_link_idle_completion(&m->device->link, accepted_ps) : 0;
}

mem_ps memsys_flush(MemSys *m, uint64_t hpa, MemFlushKind kind, mem_ps now_ps) {
    uint64_t line = hpa >> LINE_SHIFT;
    uint32_t slot = MEM_NO_SLOT;
    bool dirty = false;

    now_ps = enter(m, now_ps);
    m->count->flushes++;
    send_buffer_of(m, line, now_ps);
    if (kind != MEM_CLWB) {
        dirty = mem_cpu_drop(&m->cpu, line, &slot);
    } else if (!MEM_HAS_BUG(MEM_BUG_CLWB_KEEPS_DIRTY)) {
        dirty = mem_cpu_clean(&m->cpu, line, &slot);
    }
    drop_slot(m, slot);
    mem_ps until_ps = dirty ? write_ordered(m, line, now_ps, false).completed_ps : complete_at(m, line, now_ps);
    m->fence_until_ps = mem_later(m->fence_until_ps, until_ps);
    if (kind != MEM_CLFLUSH || until_ps <= now_ps) {
        return 0;
    }
    m->count->stall_fence_ps += until_ps - now_ps;
    return until_ps - now_ps;
}

static mem_ps fence_stall(MemSys *m, mem_ps now_ps) {
    mem_ps stall_ps = mem_later(m->fence_until_ps, now_ps) - now_ps;

    m->count->fences++;
    m->count->stall_fence_ps += stall_ps;
    return stall_ps;
}

mem_ps memsys_fence(MemSys *m, mem_ps now_ps) {
    now_ps = enter(m, now_ps);
    send_all_buffers(m, now_ps);
    return fence_stall(m, now_ps);
}

static void write_back_visited(void *opaque, uint64_t line) {
    MemSys *m = opaque;
    write_ordered(m, line, m->now_ps, false);
}

static void drop_all_lines(MemSys *m) {
    for (uint32_t slot = 0; slot < memsys_l1_slots(m); slot++) {
        if (m->cpu.l1.tags[slot] != MEM_TAG_NONE) {
            drop_slot(m, slot);
        }
    }
    mem_cpu_clear(&m->cpu);
}

static void empty_caches(MemSys *m) {
    send_all_buffers(m, m->now_ps);
    mem_cpu_visit_dirty(&m->cpu, write_back_visited, m);
    drop_all_lines(m);
}

mem_ps memsys_wbinvd(MemSys *m, mem_ps now_ps) {
    now_ps = enter(m, now_ps);
    empty_caches(m);
    return fence_stall(m, now_ps);
}

/* ---- Set-up and state ---- */

void memsys_map_window(MemSys *m, uint64_t hpa, uint64_t dpa, uint64_t size_bytes, mem_ps now_ps) {
    uint64_t first = hpa >> LINE_SHIFT;
    uint64_t count = size_bytes >> LINE_SHIFT;
    uint64_t device_first = dpa >> LINE_SHIFT;

    assert((hpa | dpa | size_bytes) % MEMSYS_LINE_BYTES == 0);
    assert(count == 0 || (m->device && device_first + count <= m->device->line_count));
    enter(m, now_ps);
    if (first == m->window_first && count == m->window_count && device_first == m->device_first) {
        return;
    }
    empty_caches(m);
    m->window_first = first;
    m->window_count = count;
    m->device_first = device_first;
}

void memsys_set_timed(MemSys *m, bool timed) {
    if (timed == m->timed) {
        return;
    }
    enter(m, m->resumes_ps); /* it is the CPU that changes the mode, so it is past its wait */
    for (uint32_t i = 0; i < m->wc.count; i++) {
        m->wc.buffers[i].busy_until_ps = 0;
    }
    mem_dram_set_timed(&m->dram, timed);
    if (m->device) {
        mem_device_set_timed(m->device, timed, m->now_ps);
    }
    use_mode(m, timed);
}

void memsys_reset_counters(MemSys *m) { m->counters = (MemCounters){0}; }

MemCounters memsys_counters(const MemSys *m) { return m->counters; }

MemLineState memsys_line_state(const MemSys *m, uint64_t dpa, mem_ps now_ps) {
    return m->device ? mem_persist_state(&m->device->persist, dpa >> LINE_SHIFT, now_ps) : MEM_LINE_DURABLE;
}

/* ---- Power ---- */

/* The CPU and local DRAM after a loss of power; what the caches held is gone. */
static void reset_host(MemSys *m) {
    drop_all_lines(m);
    mem_wc_clear(&m->wc);
    mem_dram_set_timed(&m->dram, m->timed);
    m->fence_until_ps = 0;
}

uint64_t memsys_power_cut(MemSys *m, mem_ps now_ps) {
    now_ps = enter(m, now_ps);
    if (MEM_HAS_BUG(MEM_BUG_CUT_SPARES_WC)) {
        memsys_set_timed(m, false);
        send_all_buffers(m, now_ps);
    }
    reset_host(m);
    return m->device ? mem_device_power_cut(m->device, now_ps) : 0;
}

void memsys_power_off(MemSys *m, mem_ps now_ps) {
    now_ps = enter(m, now_ps);
    reset_host(m);
    if (m->device) {
        mem_device_power_off(m->device, now_ps);
    }
}
