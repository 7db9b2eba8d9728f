/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "../base/seeded_bug.h"

static void use_mode(MemMemory *m, bool timed) {
    m->timed = timed;
    m->count = timed ? &m->counters : &m->ignored;
    m->llc_ps = timed ? m->llc_configured_ps : 0;
}

void mem_memory_init(MemMemory *m, const MemCpuConfig *cpu) {
    memset(m, 0, sizeof(*m));
    mem_dram_init(&m->dram, cpu);
    mem_core_init(&m->core, cpu);
    m->llc_configured_ps = cpu->llc.latency_ps;
    m->supply.cut_after = UINT64_MAX;
    use_mode(m, false);
}

void mem_memory_destroy(MemMemory *m) {
    mem_core_destroy(&m->core);
    for (uint32_t i = 0; i < m->device_count; i++) {
        mem_device_destroy(m->devices[i]);
        free(m->devices[i]);
    }
}

void mem_memory_reset_counters(MemMemory *m) {
    m->counters = (MemCounters){0};
    m->prefetches_before = m->core.arrivals.unsent_count;
    m->prefetches_lost = 0;
    for (uint32_t i = 0; i < m->device_count; i++) {
        m->devices[i]->counters = (MemCounters){0};
    }
    memset(m->histograms, 0, sizeof(m->histograms));
}

MemCounters mem_memory_counters(const MemMemory *m) {
    MemCounters sum = m->counters;

    for (uint32_t i = 0; i < m->device_count; i++) {
        memsys_add_counters(&sum, &m->devices[i]->counters);
    }
    return sum;
}

void mem_memory_reset_host(MemMemory *m) {
    m->prefetches_lost += m->core.arrivals.unsent_count;
    mem_core_clear(&m->core);
    m->core.wc_buffers.count = m->core.wc_buffers.room;
    mem_dram_set_timed(&m->dram, m->timed);
}

uint32_t mem_memory_add_device(MemMemory *m, const MemDeviceConfig *config, const MemMedia *media,
                               const MemCallbacks *cb) {
    assert(m->device_count < MEMSYS_MAX_DEVICES);
    uint32_t number = m->device_count++;
    MemDevice *d = mem_calloc(1, sizeof(*d));

    mem_device_init(d, number, config, media, cb, &m->supply);
    mem_device_set_timed(d, m->timed, m->issued_ps);
    m->devices[number] = d;
    return number;
}

/* ---- Windows ---- */

void mem_memory_map_window(MemMemory *m, uint32_t index, const MemWindow *window) {
    assert(index < MEMSYS_MAX_WINDOWS && window->ways >= 1 && window->ways <= MEMSYS_MAX_WAYS);
    MemMapping *map = &m->windows[index];

    *map = (MemMapping){
        .first = window->hpa / MEMSYS_LINE_BYTES,
        .count = window->size_bytes / MEMSYS_LINE_BYTES,
        .device_first = window->dpa / MEMSYS_LINE_BYTES,
        .ways = window->ways,
        .piece_lines = window->granularity_bytes / MEMSYS_LINE_BYTES,
    };
    for (uint32_t i = 0; map->count && i < window->ways; i++) {
        assert(window->devices[i] < m->device_count);
        map->devices[i] = m->devices[window->devices[i]];
        assert(map->device_first + map->count / map->ways <= map->devices[i]->line_count);
    }
    m->window_count = 0;
    for (uint32_t i = 0; i < MEMSYS_MAX_WINDOWS; i++) {
        m->window_count = m->windows[i].count ? i + 1 : m->window_count;
    }
}

MemDevice *mem_memory_route(const MemMemory *m, uint64_t line, uint64_t *device_line) {
    for (uint32_t i = 0; i < m->window_count; i++) {
        const MemMapping *map = &m->windows[i];
        uint64_t offset = line - map->first;
        if (offset >= map->count) {
            continue;
        }
        if (map->ways == 1) {
            *device_line = map->device_first + offset;
            return map->devices[0];
        }
        uint64_t piece = offset / map->piece_lines;
        *device_line = map->device_first + piece / map->ways * map->piece_lines + offset % map->piece_lines;
        return map->devices[MEM_HAS_BUG(MEM_BUG_ONE_WAY) ? 0 : piece % map->ways];
    }
    return NULL;
}

/* ---- Requests ---- */

typedef struct Read {
    mem_ps done_ps;
    uint64_t *stall_counter; /* what a wait for it counts as */
} Read;

static void note_device_read(MemMemory *m, const MemReadTimes *t, mem_ps span_ps) {
    MemHistogram *h = m->histograms;

    mem_histogram_add(&h[t->hit ? MEM_CAUSE_cxl_hit : MEM_CAUSE_cxl_miss], span_ps);
    mem_histogram_add(&h[MEM_CAUSE_link], t->why.link_ps);
    mem_histogram_add(&h[MEM_CAUSE_device_cache], t->why.cache_ps);
    if (t->why.queue_ps) {
        mem_histogram_add(&h[MEM_CAUSE_queue], t->why.queue_ps);
    }
    if (!t->hit || t->why.flash_ps) { /* a hit of a page that is still being read waits for all of it there */
        mem_histogram_add(&h[MEM_CAUSE_flash_read], t->why.flash_ps);
    }
    if (t->hit) {
        return;
    }
    if (t->why.program_ps) {
        mem_histogram_add(&h[MEM_CAUSE_program], t->why.program_ps);
    }
    if (t->why.gc_ps) {
        mem_histogram_add(&h[MEM_CAUSE_gc], t->why.gc_ps);
    }
}

/* Read a line for a request that leaves the core at `at_ps`. */
static Read read_line(MemMemory *m, uint64_t line, mem_ps at_ps, bool demand) {
    uint64_t device_line;
    MemDevice *d = mem_memory_route(m, line, &device_line);
    mem_ps looked_up_ps = at_ps + m->llc_ps;
    Read r;

    if (!d) {
        r = (Read){mem_dram_read(&m->dram, looked_up_ps), &m->count->stall_dram_ps};
        m->count->dram_reads++;
        if (demand && m->timed) {
            mem_histogram_add(&m->histograms[MEM_CAUSE_dram], r.done_ps - at_ps);
        }
        return r;
    }
    MemReadTimes t = mem_device_read(d, device_line, looked_up_ps);
    r = (Read){t.done_ps, t.hit ? &m->count->stall_cxl_hit_ps : &m->count->stall_cxl_miss_ps};
    if (demand && m->timed) {
        note_device_read(m, &t, r.done_ps - at_ps);
    }
    return r;
}

/* Send a line to where it lives, `way_ps` behind what sends it. */
static MemWriteTimes write_line(MemMemory *m, const MemOperation *op, mem_ps at_ps, mem_ps way_ps) {
    uint64_t device_line;
    MemDevice *d = mem_memory_route(m, op->line, &device_line);

    if (!d) {
        mem_ps accepted_ps = mem_dram_write(&m->dram, at_ps + way_ps);
        m->count->dram_writes++;
        return (MemWriteTimes){.taken_ps = accepted_ps, .accepted_ps = accepted_ps, .completed_ps = accepted_ps};
    }
    MemWriteTimes t = mem_device_write(d, device_line, op->byte_mask, at_ps, way_ps);
    if (m->timed) {
        mem_in_flight_add(&m->core.writes, op->line, at_ps, t.completed_ps, m->reached_ps);
    }
    return t;
}

/* One that the core sends: it passes the LLC as a load does, and the next fence waits for it. */
static MemWriteTimes write_ordered(MemMemory *m, const MemOperation *op, mem_ps at_ps) {
    MemWriteTimes t = write_line(m, op, at_ps, MEM_HAS_BUG(MEM_BUG_WRITE_SKIPS_LLC) ? 0 : m->llc_ps);

    m->core.fence_until_ps = mem_later(m->core.fence_until_ps, t.completed_ps);
    return t;
}

/* ---- Prefetches: those that find no buffer wait for one, in order ---- */

static void note_sent(MemMemory *m, MemInFlightLine *wanted, mem_ps at_ps, mem_ps arrives_ps) {
    mem_in_flight_sent(&m->core.arrivals, wanted, at_ps, arrives_ps);
    m->core.far_unsent -= wanted->far;
}

static void send_prefetch(MemMemory *m, MemInFlightLine *wanted, mem_ps at_ps) {
    note_sent(m, wanted, at_ps, read_line(m, wanted->line, at_ps, false).done_ps);
}

static void send_due_prefetches(MemMemory *m, mem_ps now_ps) {
    MemInFlightLine *wanted;

    while ((wanted = mem_in_flight_unsent(&m->core.arrivals))) {
        mem_ps at_ps = mem_core_prefetch_ready(&m->core, wanted->asked_ps);
        if (at_ps > now_ps) {
            return;
        }
        send_prefetch(m, wanted, at_ps);
        mem_core_prefetch_sent(&m->core, wanted->arrives_ps);
    }
}

/* The end of the region of interest: no buffer is waited for any more. */
static void send_all_prefetches(MemMemory *m, mem_ps at_ps) {
    MemInFlightLine *wanted;

    while ((wanted = mem_in_flight_unsent(&m->core.arrivals))) {
        send_prefetch(m, wanted, at_ps);
    }
}

static void prefetch(MemMemory *m, uint64_t line, mem_ps at_ps) {
    if (!m->timed) {
        read_line(m, line, at_ps, false);
        return;
    }
    MemInFlightLine *wanted = mem_in_flight_add(&m->core.arrivals, line, at_ps, MEM_NOT_SENT, m->reached_ps);
    uint64_t device_line;

    m->count->prefetches++;
    wanted->far = mem_memory_route(m, line, &device_line) != NULL;
    m->core.far_unsent += wanted->far;
    send_due_prefetches(m, at_ps);
}

/* ---- Demands: each has a fill buffer until its line is there ---- */

/* Of a line that nobody asked for yet: besides, it is a request of the L2. */
static Read demand(MemMemory *m, uint64_t line, mem_ps at_ps, bool load) {
    m->issued_ps = mem_core_demand_ready(&m->core, at_ps);
    Read r = read_line(m, line, m->issued_ps, load);
    mem_core_demand_sent(&m->core, r.done_ps);
    return r;
}

/* When a prefetched line is there, and in L1. One that still waits to be sent goes out now, as a demand. */
static mem_ps arrival(MemMemory *m, uint64_t line, mem_ps at_ps) {
    MemInFlightLine *wanted = mem_in_flight_find(&m->core.arrivals, line);

    m->issued_ps = at_ps;
    if (!wanted || wanted->arrives_ps <= at_ps) {
        return at_ps;
    }
    if (MEM_HAS_BUG(MEM_BUG_TOUCH_WITHOUT_BUFFER)) {
        if (wanted->arrives_ps == MEM_NOT_SENT) {
            send_prefetch(m, wanted, at_ps);
        }
        return mem_later(wanted->arrives_ps, at_ps);
    }
    if (wanted->arrives_ps == MEM_NOT_SENT) {
        mem_ps done_ps = demand(m, line, at_ps, false).done_ps;
        note_sent(m, wanted, m->issued_ps, done_ps);
        return done_ps;
    }
    m->issued_ps = mem_slots_ready(&m->core.fill_buffers, at_ps);
    mem_ps there_ps = mem_later(wanted->arrives_ps, m->issued_ps);
    mem_slots_take(&m->core.fill_buffers, there_ps);
    return there_ps;
}

/* ---- What local accesses can cost at most ---- */

#define VICTIMS 3u /* dirty lines that a fetch, or a prefetch, pushes out of the LLC at most */

mem_ps mem_memory_local_bound(const MemMemory *m, mem_ps now_ps, uint32_t accesses, uint32_t prefetches) {
    const MemDramTiming *dram = &m->dram.active;
    mem_ps busy_ps = m->dram.channel.free_at_ps + m->core.arrivals.unsent_count * dram->transfer_ps;
    mem_ps all_done_ps = mem_later(busy_ps + dram->latency_ps, mem_core_all_done(&m->core, now_ps));
    mem_ps way_ps = m->llc_ps + dram->latency_ps; /* twice: a miss may wait for a prefetch sent just before it */
    mem_ps each_ps = 2 * way_ps + (1 + VICTIMS) * (1 + prefetches) * dram->transfer_ps;

    if (MEM_HAS_BUG(MEM_BUG_POSTED_BOUND_FROM_NOW)) {
        all_done_ps = now_ps;
    }
    return mem_later(all_done_ps, now_ps) - now_ps + accesses * each_ps;
}

/* ---- Modes ---- */

void mem_memory_set_timed(MemMemory *m, bool timed, mem_ps now_ps) {
    send_all_prefetches(m, now_ps);
    mem_core_clear(&m->core);
    mem_dram_set_timed(&m->dram, timed);
    for (uint32_t i = 0; i < m->device_count; i++) {
        mem_device_set_timed(m->devices[i], timed, now_ps);
    }
    m->issued_ps = now_ps;
    use_mode(m, timed);
}

/* ---- Operations; each returns when the core goes on ---- */

static mem_ps wait_until(MemMemory *m, mem_ps at_ps, mem_ps until_ps, uint64_t *counter) {
    if (until_ps <= at_ps) {
        return at_ps;
    }
    *counter += until_ps - at_ps;
    mem_core_wait(&m->core, at_ps, until_ps);
    return until_ps;
}

static mem_ps load(MemMemory *m, uint64_t line, mem_ps at_ps, bool stream) {
    Read r = demand(m, line, at_ps, true);

    if (!stream) {
        return wait_until(m, at_ps, r.done_ps, r.stall_counter);
    }
    at_ps = wait_until(m, at_ps, m->issued_ps, &m->count->stall_overlap_ps);
    return mem_core_load_under_way(&m->core, at_ps, r.done_ps);
}

/* The line of a store is there at `line_ps`: the store waits for it, or the store buffer does. */
static mem_ps post_store(MemMemory *m, uint64_t line, mem_ps at_ps, mem_ps line_ps, uint64_t *stall_counter) {
    MemCore *c = &m->core;

    if (!c->store_room) {
        return wait_until(m, at_ps, line_ps, stall_counter);
    }
    if (line_ps > at_ps) {
        mem_core_store_under_way(c, line, line_ps);
    }
    return at_ps;
}

static mem_ps store(MemMemory *m, uint64_t line, mem_ps at_ps) {
    MemCore *c = &m->core;

    at_ps = wait_until(m, at_ps, mem_core_store_ready(c, at_ps), &m->count->stall_store_ps);
    Read r = demand(m, line, at_ps, false);
    return post_store(m, line, at_ps, r.done_ps, r.stall_counter);
}

static mem_ps touch(MemMemory *m, const MemOperation *op, mem_ps at_ps) {
    MemCore *c = &m->core;

    m->count->prefetches_used++;
    if (op->kind == MEM_OP_STORE_TOUCH) {
        at_ps = wait_until(m, at_ps, mem_core_store_ready(c, at_ps), &m->count->stall_store_ps);
        return post_store(m, op->line, at_ps, arrival(m, op->line, at_ps), &m->count->stall_overlap_ps);
    }
    mem_ps done_ps = arrival(m, op->line, at_ps);
    if (op->kind == MEM_OP_STREAM_TOUCH) {
        at_ps = wait_until(m, at_ps, m->issued_ps, &m->count->stall_overlap_ps);
        return mem_core_load_under_way(c, at_ps, done_ps);
    }
    return wait_until(m, at_ps, done_ps, &m->count->stall_overlap_ps);
}

/* When all that was sent of a line so far is complete. */
static mem_ps writes_complete(MemMemory *m, uint64_t line, mem_ps at_ps) {
    const MemInFlightLine *sent =
        MEM_HAS_BUG(MEM_BUG_FENCE_SKIPS_EVICTED) ? NULL : mem_in_flight_find(&m->core.writes, line);
    return sent ? mem_later(sent->arrives_ps, at_ps) : at_ps;
}

static mem_ps take_wc_buffer(MemMemory *m, mem_ps at_ps) {
    MemSlots *s = &m->core.wc_buffers;
    mem_ps ready_ps = mem_slots_ready(s, at_ps);

    mem_slots_remove(s);
    return wait_until(m, at_ps, ready_ps, &m->count->stall_fence_ps);
}

/* The buffer is a fill buffer of the core: it is held until the host has taken its line. */
static void send_wc_buffer(MemMemory *m, const MemOperation *op, mem_ps at_ps) {
    MemWriteTimes t = write_ordered(m, op, at_ps);

    mem_slots_add(&m->core.wc_buffers, MEM_HAS_BUG(MEM_BUG_WC_FREE_AT_ONCE) ? at_ps : t.taken_ps);
}

static mem_ps fence(MemMemory *m, mem_ps at_ps, mem_ps until_ps) {
    if (m->timed) {
        mem_histogram_add(&m->histograms[MEM_CAUSE_fence], mem_later(until_ps, at_ps) - at_ps);
    }
    return wait_until(m, at_ps, until_ps, &m->count->stall_fence_ps);
}

/* All devices at once: none knows of the others. */
static mem_ps barrier(MemMemory *m, mem_ps at_ps) {
    mem_ps done_ps = at_ps;

    for (uint32_t i = 0; i < m->device_count; i++) {
        done_ps = mem_later(done_ps, mem_device_barrier(m->devices[i], at_ps));
    }
    return m->timed ? wait_until(m, at_ps, done_ps, &m->count->stall_fence_ps) : at_ps;
}

/* What the core does not wait for; it may come `with_previous`. */
static bool post(MemMemory *m, const MemOperation *op, mem_ps at_ps) {
    switch (op->kind) {
    case MEM_OP_PREFETCH:
        prefetch(m, op->line, at_ps);
        return true;
    case MEM_OP_EVICT:
        write_line(m, op, at_ps, 0);
        return true;
    case MEM_OP_WRITE_BACK:
        at_ps = mem_core_committed(&m->core, op->line, at_ps);
        m->core.flushed_ps = write_ordered(m, op, at_ps).completed_ps;
        return true;
    case MEM_OP_CLEAN_FLUSH:
        m->core.flushed_ps = writes_complete(m, op->line, at_ps);
        m->core.fence_until_ps = mem_later(m->core.fence_until_ps, m->core.flushed_ps);
        return true;
    case MEM_OP_NT_SEND:
        send_wc_buffer(m, op, at_ps);
        return true;
    default:
        return false;
    }
}

static mem_ps run(MemMemory *m, const MemOperation *op, mem_ps at_ps) {
    MemCore *c = &m->core;

    switch (op->kind) {
    case MEM_OP_LOAD:
    case MEM_OP_STREAM_LOAD:
        return load(m, op->line, at_ps, op->kind == MEM_OP_STREAM_LOAD);
    case MEM_OP_STORE:
        return store(m, op->line, at_ps);
    case MEM_OP_TOUCH:
    case MEM_OP_STREAM_TOUCH:
    case MEM_OP_STORE_TOUCH:
        return touch(m, op, at_ps);
    case MEM_OP_FLUSH_WAIT:
        return fence(m, at_ps, c->flushed_ps);
    case MEM_OP_NT_OPEN:
        return take_wc_buffer(m, at_ps);
    case MEM_OP_STORE_FENCE:
        return fence(m, at_ps, mem_later(mem_core_stores_done(c, at_ps), c->fence_until_ps));
    case MEM_OP_LOAD_FENCE:
        return fence(m, at_ps, mem_core_loads_done(c, at_ps));
    case MEM_OP_SERIALIZE:
        return fence(m, at_ps, mem_core_stores_done(c, mem_core_loads_done(c, at_ps)));
    case MEM_OP_FULL_FENCE:
        return fence(m, at_ps, mem_later(mem_core_stores_done(c, mem_core_loads_done(c, at_ps)), c->fence_until_ps));
    default:
        assert(op->kind == MEM_OP_BARRIER);
        return barrier(m, at_ps);
    }
}

mem_ps mem_memory_op(MemMemory *m, const MemOperation *op, mem_ps at_ps) {
    if (op->with_previous) {
        bool posted = post(m, op, m->issued_ps);
        assert(posted);
        (void)posted;
        return 0;
    }
    mem_ps caught_up_ps = mem_core_catch_up(&m->core, at_ps);
    m->count->stall_overlap_ps += caught_up_ps - at_ps;
    m->issued_ps = m->reached_ps = caught_up_ps;
    send_due_prefetches(m, caught_up_ps);
    if (post(m, op, caught_up_ps)) {
        return caught_up_ps - at_ps;
    }
    return run(m, op, caught_up_ps) - at_ps;
}
