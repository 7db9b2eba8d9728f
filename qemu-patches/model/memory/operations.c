/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operations; each returns when the core goes on. */
#include "memory_internal.h"

#include "../base/seeded_bug.h"

static mem_ps wait_until(MemMemory *m, mem_ps at_ps, mem_ps until_ps, uint64_t *counter) {
    if (until_ps <= at_ps) {
        return at_ps;
    }
    *counter += until_ps - at_ps;
    mem_core_wait(&m->core, at_ps, until_ps);
    return until_ps;
}

static mem_ps load(MemMemory *m, uint64_t line, mem_ps at_ps, bool stream) {
    MemRead r = mem_memory_demand(m, line, at_ps, true);

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
    MemRead r = mem_memory_demand(m, line, at_ps, false);
    return post_store(m, line, at_ps, r.done_ps, r.stall_counter);
}

static mem_ps touch(MemMemory *m, const MemOperation *op, mem_ps at_ps) {
    MemCore *c = &m->core;

    m->count->prefetches_used++;
    if (op->kind == MEM_OP_STORE_TOUCH) {
        at_ps = wait_until(m, at_ps, mem_core_store_ready(c, at_ps), &m->count->stall_store_ps);
        return post_store(m, op->line, at_ps, mem_memory_arrival(m, op->line, at_ps), &m->count->stall_overlap_ps);
    }
    mem_ps done_ps = mem_memory_arrival(m, op->line, at_ps);
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
    MemWriteTimes t = mem_memory_write_ordered(m, op, at_ps);

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
        mem_memory_prefetch(m, op->line, at_ps);
        return true;
    case MEM_OP_EVICT:
        mem_memory_write_line(m, op, at_ps, 0);
        return true;
    case MEM_OP_WRITE_BACK:
        at_ps = mem_core_committed(&m->core, op->line, at_ps);
        m->core.flushed_ps = mem_memory_write_ordered(m, op, at_ps).completed_ps;
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
    mem_memory_send_due_prefetches(m, caught_up_ps);
    if (post(m, op, caught_up_ps)) {
        return caught_up_ps - at_ps;
    }
    return run(m, op, caught_up_ps) - at_ps;
}
