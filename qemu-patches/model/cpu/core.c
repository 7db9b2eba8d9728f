/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core.h"

void mem_core_init(MemCore *c, const MemCpuConfig *config) {
    *c = (MemCore){.window_ps = config->overlap_window_ps, .store_room = config->store_buffer};
    c->count = &c->ignored;
    c->stores = mem_calloc(c->store_room + 1, sizeof(*c->stores));
    mem_slots_init(&c->fill_buffers, config->fill_buffers);
    mem_slots_init(&c->wc_buffers, config->wc_buffers);
    mem_slots_init(&c->prefetch_buffers, config->prefetch_buffers);
    mem_slots_init(&c->l2_requests, config->l2_requests);
    mem_in_flight_init(&c->arrivals);
}

void mem_core_destroy(MemCore *c) {
    free(c->stores);
    mem_slots_destroy(&c->fill_buffers);
    mem_slots_destroy(&c->wc_buffers);
    mem_slots_destroy(&c->prefetch_buffers);
    mem_slots_destroy(&c->l2_requests);
    mem_in_flight_destroy(&c->arrivals);
}

void mem_core_clear(MemCore *c) {
    uint32_t open_wc_buffers = c->wc_buffers.room - c->wc_buffers.count;

    c->load_count = 0;
    c->store_count = 0;
    c->last_commit_ps = 0;
    c->flushed_ps = 0;
    c->fence_until_ps = 0;
    mem_slots_clear(&c->fill_buffers);
    mem_slots_clear(&c->wc_buffers);
    c->wc_buffers.count -= open_wc_buffers;
    mem_slots_clear(&c->prefetch_buffers);
    mem_slots_clear(&c->l2_requests);
    c->far_unsent = 0;
    mem_in_flight_clear(&c->arrivals);
}

static void forget_first_load(MemCore *c) {
    c->first_load = (c->first_load + 1) % MEM_LOADS_UNDER_WAY;
    c->load_count--;
}

void mem_core_wait(MemCore *c, mem_ps at_ps, mem_ps until_ps) {
    if (until_ps > at_ps) {
        c->stalled_ps += until_ps - at_ps;
    }
}

mem_ps mem_core_catch_up(MemCore *c, mem_ps at_ps) {
    while (c->load_count) {
        const MemLoadUnderWay *first = &c->loads[c->first_load];
        mem_ps full_ps = first->limit_ps + c->stalled_ps; /* when the window is full, in virtual time */
        if (full_ps >= at_ps && first->done_ps > at_ps) {
            break;
        }
        if (first->done_ps > full_ps && full_ps < at_ps) {
            mem_ps stall_ps = first->done_ps - full_ps;
            c->stalled_ps += stall_ps;
            at_ps += stall_ps;
        }
        forget_first_load(c);
    }
    return at_ps;
}

mem_ps mem_core_load_under_way(MemCore *c, mem_ps at_ps, mem_ps done_ps) {
    if (done_ps <= at_ps) {
        return at_ps;
    }
    if (c->load_count == MEM_LOADS_UNDER_WAY) {
        mem_ps first_ps = mem_later(c->loads[c->first_load].done_ps, at_ps);
        mem_core_wait(c, at_ps, first_ps);
        at_ps = first_ps;
        forget_first_load(c);
    }
    uint32_t last = (c->first_load + c->load_count++) % MEM_LOADS_UNDER_WAY;
    c->loads[last] = (MemLoadUnderWay){.done_ps = done_ps, .limit_ps = at_ps - c->stalled_ps + c->window_ps};
    return at_ps;
}

mem_ps mem_core_loads_done(const MemCore *c, mem_ps at_ps) {
    for (uint32_t i = 0; i < c->load_count; i++) {
        at_ps = mem_later(at_ps, c->loads[(c->first_load + i) % MEM_LOADS_UNDER_WAY].done_ps);
    }
    return at_ps;
}

static void forget_first_store(MemCore *c) {
    c->first_store = c->first_store + 1 == c->store_room ? 0 : c->first_store + 1;
    c->store_count--;
}

mem_ps mem_core_store_ready(MemCore *c, mem_ps at_ps) {
    while (c->store_count && c->stores[c->first_store].commit_ps <= at_ps) {
        forget_first_store(c);
    }
    if (c->store_room && c->store_count == c->store_room) {
        at_ps = c->stores[c->first_store].commit_ps;
        forget_first_store(c);
    }
    return at_ps;
}

void mem_core_store_under_way(MemCore *c, uint64_t line, mem_ps line_ps) {
    uint32_t last = c->first_store + c->store_count++;

    assert(c->store_count <= c->store_room);
    /* Stores commit in order. */
    c->last_commit_ps = mem_later(c->last_commit_ps, line_ps);
    c->stores[last < c->store_room ? last : last - c->store_room] =
        (MemPendingStore){.line = line, .commit_ps = c->last_commit_ps};
}

mem_ps mem_core_committed(const MemCore *c, uint64_t line, mem_ps at_ps) {
    for (uint32_t i = 0; c->last_commit_ps > at_ps && i < c->store_count; i++) {
        uint32_t at = c->first_store + i;
        const MemPendingStore *s = &c->stores[at < c->store_room ? at : at - c->store_room];
        if (s->line == line) {
            at_ps = mem_later(at_ps, s->commit_ps);
        }
    }
    return at_ps;
}

mem_ps mem_core_stores_done(const MemCore *c, mem_ps at_ps) { return mem_later(at_ps, c->last_commit_ps); }

mem_ps mem_core_demand_ready(const MemCore *c, mem_ps at_ps) {
    return mem_slots_ready(&c->l2_requests, mem_slots_ready(&c->fill_buffers, at_ps));
}

void mem_core_demand_sent(MemCore *c, mem_ps done_ps) {
    mem_slots_take(&c->fill_buffers, done_ps);
    mem_slots_take(&c->l2_requests, done_ps);
}

mem_ps mem_core_prefetch_ready(const MemCore *c, mem_ps at_ps) {
    return mem_slots_ready(&c->l2_requests, mem_slots_ready(&c->prefetch_buffers, at_ps));
}

void mem_core_prefetch_sent(MemCore *c, mem_ps done_ps) {
    mem_slots_take(&c->prefetch_buffers, done_ps);
    mem_slots_take(&c->l2_requests, done_ps);
}

mem_ps mem_core_all_done(const MemCore *c, mem_ps at_ps) {
    at_ps = mem_core_stores_done(c, mem_core_loads_done(c, at_ps));
    return mem_slots_all_free(&c->l2_requests, mem_slots_all_free(&c->fill_buffers, at_ps));
}
