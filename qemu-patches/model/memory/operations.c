/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operations. Each function returns when the core continues, unless stated otherwise. */
#include "memory_internal.h"

static mem_ps wait_until(MemCore *c, mem_ps at_ps, mem_ps until_ps, uint64_t *counter) {
    if (until_ps <= at_ps) {
        return at_ps;
    }
    *counter += until_ps - at_ps;
    mem_core_wait(c, at_ps, until_ps);
    return until_ps;
}

static mem_ps load(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps, bool stream) {
    MemRead r = mem_memory_demand(m, c, line, at_ps, true);

    if (!stream) {
        return wait_until(c, at_ps, r.done_ps, r.stall_counter);
    }
    at_ps = wait_until(c, at_ps, c->issued_ps, &c->count->stall_overlap_ps);
    return mem_core_load_under_way(c, at_ps, r.done_ps);
}

/* The line of a store arrives at `line_ps`. The store itself waits for it, or the store buffer does. */
static mem_ps post_store(MemCore *c, uint64_t line, mem_ps at_ps, mem_ps line_ps, uint64_t *stall_counter) {
    if (!c->store_room || c->store_waits) {
        return wait_until(c, at_ps, line_ps, stall_counter);
    }
    if (line_ps > at_ps) {
        mem_core_store_under_way(c, line, line_ps);
    }
    return at_ps;
}

static mem_ps store(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps) {
    at_ps = wait_until(c, at_ps, mem_core_store_ready(c, at_ps), &c->count->stall_store_ps);
    MemRead r = mem_memory_demand(m, c, line, at_ps, false);
    return post_store(c, line, at_ps, r.done_ps, r.stall_counter);
}

/* Access a line that has been asked for; mem_memory_arrival() says when it arrives. */
static mem_ps touch(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps) {
    if (op->kind == MEM_OP_STORE_TOUCH || op->kind == MEM_OP_STORE_JOIN) {
        at_ps = wait_until(c, at_ps, mem_core_store_ready(c, at_ps), &c->count->stall_store_ps);
        return post_store(c, op->line, at_ps, mem_memory_arrival(m, c, op->line, at_ps), &c->count->stall_overlap_ps);
    }
    mem_ps done_ps = mem_memory_arrival(m, c, op->line, at_ps);
    if (op->kind == MEM_OP_STREAM_TOUCH || op->kind == MEM_OP_STREAM_JOIN) {
        at_ps = wait_until(c, at_ps, c->issued_ps, &c->count->stall_overlap_ps);
        return mem_core_load_under_way(c, at_ps, done_ps);
    }
    return wait_until(c, at_ps, done_ps, &c->count->stall_overlap_ps);
}

/* Another core supplies the line, or invalidates its copy. */
static mem_ps from_others(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps) {
    if (op->kind == MEM_OP_UPGRADE || op->kind == MEM_OP_STORE_TRANSFER) {
        mem_ps span_ps = op->kind == MEM_OP_UPGRADE ? m->upgrade_ps : m->c2c_ps;
        at_ps = wait_until(c, at_ps, mem_core_store_ready(c, at_ps), &c->count->stall_store_ps);
        mem_ps there_ps = mem_memory_from_others(m, c, op->line, at_ps, span_ps);
        return post_store(c, op->line, at_ps, there_ps, &c->count->stall_cache_ps);
    }
    mem_ps there_ps = mem_memory_from_others(m, c, op->line, at_ps, m->c2c_ps);
    if (op->kind == MEM_OP_STREAM_TRANSFER) {
        at_ps = wait_until(c, at_ps, c->issued_ps, &c->count->stall_overlap_ps);
        return mem_core_load_under_way(c, at_ps, there_ps);
    }
    return wait_until(c, at_ps, there_ps, &c->count->stall_cache_ps);
}

/* When all writes of a line sent so far are complete. */
static mem_ps writes_complete(MemMemory *m, uint64_t line, mem_ps at_ps) {
    const MemInFlightLine *sent = mem_in_flight_find(&m->writes, line);
    return sent ? mem_later(sent->arrives_ps, at_ps) : at_ps;
}

static mem_ps take_wc_buffer(MemCore *c, mem_ps at_ps) {
    MemSlots *s = &c->wc_buffers;
    mem_ps ready_ps = mem_slots_ready(s, at_ps);

    mem_slots_remove(s);
    return wait_until(c, at_ps, ready_ps, &c->count->stall_fence_ps);
}

/* A write-combining buffer is a fill buffer of the core, occupied until the host has taken its line. */
static void send_wc_buffer(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps) {
    MemWriteTimes t = mem_memory_write_ordered(m, c, op, at_ps);

    mem_slots_add(&c->wc_buffers, t.taken_ps);
}

static mem_ps fence(MemMemory *m, MemCore *c, mem_ps at_ps, mem_ps until_ps) {
    if (m->timed) {
        mem_histogram_add(&m->histograms[MEM_CAUSE_fence], mem_later(until_ps, at_ps) - at_ps);
    }
    return wait_until(c, at_ps, until_ps, &c->count->stall_fence_ps);
}

/* All devices start at once, since no device knows of the others. */
static mem_ps barrier(MemMemory *m, MemCore *c, mem_ps at_ps) {
    mem_ps done_ps = at_ps;

    for (uint32_t i = 0; i < m->device_count; i++) {
        done_ps = mem_later(done_ps, mem_device_barrier(m->devices[i], at_ps));
    }
    return m->timed ? wait_until(c, at_ps, done_ps, &c->count->stall_fence_ps) : at_ps;
}

/* Run an operation that the core does not wait for; false for other kinds. Only these may be `with_previous`. */
static bool post(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps) {
    switch (op->kind) {
    case MEM_OP_PREFETCH:
        mem_memory_prefetch(m, c, op->line, at_ps);
        return true;
    case MEM_OP_EVICT:
        mem_memory_write_line(m, c, op, at_ps, 0);
        return true;
    case MEM_OP_WRITE_BACK:
        at_ps = mem_core_committed(c, op->line, at_ps);
        at_ps = m->core_count == 1 ? at_ps : mem_memory_other_has(m, c, op->line, at_ps);
        c->flushed_ps = mem_memory_write_ordered(m, c, op, at_ps).completed_ps;
        return true;
    case MEM_OP_CLEAN_FLUSH:
        c->flushed_ps = writes_complete(m, op->line, at_ps);
        c->fence_until_ps = mem_later(c->fence_until_ps, c->flushed_ps);
        return true;
    case MEM_OP_NT_SEND:
        send_wc_buffer(m, c, op, at_ps);
        return true;
    default:
        return false;
    }
}

static mem_ps run(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps) {
    switch (op->kind) {
    case MEM_OP_LOAD:
    case MEM_OP_STREAM_LOAD:
        return load(m, c, op->line, at_ps, op->kind == MEM_OP_STREAM_LOAD);
    case MEM_OP_STORE:
        return store(m, c, op->line, at_ps);
    case MEM_OP_TOUCH:
    case MEM_OP_STREAM_TOUCH:
    case MEM_OP_STORE_TOUCH:
        c->count->prefetches_used++;
        return touch(m, c, op, at_ps);
    case MEM_OP_JOIN:
    case MEM_OP_STREAM_JOIN:
    case MEM_OP_STORE_JOIN:
        c->count->joins++;
        return touch(m, c, op, at_ps);
    case MEM_OP_TRANSFER:
    case MEM_OP_STREAM_TRANSFER:
    case MEM_OP_STORE_TRANSFER:
        c->count->transfers++;
        return from_others(m, c, op, at_ps);
    case MEM_OP_UPGRADE:
        c->count->upgrades++;
        return from_others(m, c, op, at_ps);
    case MEM_OP_FLUSH_WAIT:
        return fence(m, c, at_ps, c->flushed_ps);
    case MEM_OP_NT_OPEN:
        return take_wc_buffer(c, at_ps);
    case MEM_OP_STORE_FENCE:
        return fence(m, c, at_ps, mem_later(mem_core_stores_done(c, at_ps), c->fence_until_ps));
    case MEM_OP_LOAD_FENCE:
        return fence(m, c, at_ps, mem_core_loads_done(c, at_ps));
    case MEM_OP_SERIALIZE:
        return fence(m, c, at_ps, mem_core_stores_done(c, mem_core_loads_done(c, at_ps)));
    case MEM_OP_FULL_FENCE:
        return fence(m, c, at_ps, mem_later(mem_core_stores_done(c, mem_core_loads_done(c, at_ps)), c->fence_until_ps));
    default:
        assert(op->kind == MEM_OP_BARRIER);
        return barrier(m, c, at_ps);
    }
}

/* Includes the prefetches of other cores: otherwise requests of core `c` would overtake them. */
static inline void send_due_prefetches(MemMemory *m, MemCore *c, mem_ps now_ps) {
    if (m->core_count == 1) {
        mem_memory_send_due_prefetches(m, c, now_ps);
        return;
    }
    for (uint32_t i = 0; i < m->core_count; i++) {
        mem_memory_send_due_prefetches(m, m->cores[i], now_ps);
    }
}

mem_ps mem_memory_op(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps) {
    if (op->with_previous) {
        bool posted = post(m, c, op, c->issued_ps);
        assert(posted);
        (void)posted;
        return 0;
    }
    mem_ps caught_up_ps = mem_core_catch_up(c, at_ps);
    c->count->stall_overlap_ps += caught_up_ps - at_ps;
    c->issued_ps = c->reached_ps = caught_up_ps;
    send_due_prefetches(m, c, caught_up_ps);
    if (post(m, c, op, caught_up_ps)) {
        return caught_up_ps - at_ps;
    }
    return run(m, c, op, caught_up_ps) - at_ps;
}

void mem_memory_send_for_other(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps) {
    assert(op->kind == MEM_OP_NT_SEND);
    send_wc_buffer(m, c, op, at_ps);
}
