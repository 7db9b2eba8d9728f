/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The conservation laws that hold between calls, whatever the calls were. */
#include "front.h"

static const char *check_host_counters(const MemMemory *m) {
    const MemCounters sum = mem_memory_counters(m);
    const MemCounters *n = &sum;
    uint64_t unsent = m->core.arrivals.unsent_count + m->prefetches_lost;

    if (n->l1_misses > n->loads + n->stores || n->l2_misses > n->l1_misses || n->llc_misses > n->l2_misses) {
        return "no level misses more often than it is asked";
    }
    if (n->llc_misses + n->prefetches + m->prefetches_before != n->dram_reads + n->cxl_reads + unsent) {
        return "LLC misses + prefetches = DRAM reads + device reads + prefetches not sent";
    }
    return NULL;
}

static uint64_t loads_under_way(const MemCore *c, mem_ps at_ps) {
    uint64_t count = 0;

    for (uint32_t i = 0; i < c->load_count; i++) {
        count += c->loads[(c->first_load + i) % MEM_LOADS_UNDER_WAY].done_ps > at_ps;
    }
    return count;
}

static bool exceeds(uint64_t count, const MemSlots *places) { return places->room && count > places->room; }

/* Told from what is under way when the core goes on, and not by the places, which would not know what has none. */
static const char *check_under_way(const MemCore *c, mem_ps at_ps) {
    uint64_t loads = loads_under_way(c, at_ps), prefetched = mem_in_flight_count(&c->arrivals, at_ps);

    if (exceeds(loads, &c->fill_buffers)) {
        return "no more loads are under way than there are fill buffers";
    }
    if (exceeds(prefetched, &c->l2_requests)) {
        return "no more lines are under way to L2 than it has requests";
    }
    if (c->fill_buffers.room && c->prefetch_buffers.room &&
        prefetched > c->fill_buffers.room + c->prefetch_buffers.room) {
        return "each prefetched line under way has a buffer of the prefetcher, or of the load that it is too late for";
    }
    if (c->store_count > c->store_room) {
        return "no more stores wait than the store buffer holds";
    }
    return NULL;
}

static const char *check_device_counters(const MemCounters *n) {
    if (n->cache_hits + n->cache_misses != n->cxl_reads + n->cxl_writes) {
        return "device-cache hits + misses = device reads + writes";
    }
    if (n->flash_reads + n->cache_unfetched != n->cache_misses + n->cache_prefetches + n->cache_completions) {
        return "pages read = device-cache misses that fetch + prefetches + completions";
    }
    if (n->flash_programs != n->cache_writebacks + n->cache_through_programs + n->log_compactions + n->flash_gc_moves) {
        return "pages programmed = write-backs + write-throughs + compactions + moves of garbage collection";
    }
    if (n->link_read_bytes != n->cxl_reads * MEMSYS_LINE_BYTES ||
        n->link_write_bytes != n->cxl_writes * MEMSYS_LINE_BYTES) {
        return "link bytes = lines moved * 64";
    }
    return NULL;
}

/* Device lines the CPU holds dirty, by whether their device knows. */
typedef struct DirtyTally {
    const MemSys *m;
    uint64_t known[MEMSYS_MAX_DEVICES];
    uint64_t unknown;
} DirtyTally;

static void tally_line(void *opaque, uint64_t line) {
    DirtyTally *tally = opaque;
    const MemMemory *memory = &tally->m->memory;
    uint64_t device_line;
    MemDevice *d = mem_memory_route(memory, line, &device_line);

    for (uint32_t i = 0; d && i < memory->device_count; i++) {
        if (memory->devices[i] == d) {
            bool known = mem_persist_is_cpu_dirty(&d->persist, device_line);
            tally->known[i] += known;
            tally->unknown += !known;
        }
    }
}

static const char *check_dirty_lines(const MemSys *m) {
    DirtyTally tally = {.m = m};

    mem_cpu_visit_dirty(&m->cpu, tally_line, &tally);
    for (uint32_t i = 0; i < m->wc.count; i++) {
        if (m->wc.buffers[i].open) {
            tally_line(&tally, m->wc.buffers[i].line);
        }
    }
    for (uint32_t i = 0; i < m->memory.device_count; i++) {
        if (tally.unknown || tally.known[i] != m->memory.devices[i]->persist.cpu_dirty_count) {
            return "the device lines that are CPU-dirty are those dirty in a cache or gathered in a WC buffer";
        }
    }
    return NULL;
}

static const char *check_buffers(const MemSys *m) {
    uint32_t open = 0;

    for (uint32_t i = 0; i < m->wc.count; i++) {
        const MemWcBuffer *b = &m->wc.buffers[i];
        open += b->open;
        if (b->open && (mem_cpu_has(&m->cpu, b->line) || mem_wc_find(&m->wc, b->line) != i)) {
            return "a line gathered in a WC buffer is in no other buffer and in no cache";
        }
    }
    if (open != m->wc.open_count || open + m->memory.core.wc_buffers.count != m->wc.count) {
        return "open WC buffers are counted right";
    }
    return NULL;
}

const char *memsys_check_invariants(const MemSys *m) {
    const char *broken = mem_cpu_check(&m->cpu);

    broken = broken ? broken : check_host_counters(&m->memory);
    broken = broken ? broken : check_under_way(&m->memory.core, mem_later(m->now_ps, m->resumes_ps));
    broken = broken ? broken : check_buffers(m);
    broken = broken ? broken : check_dirty_lines(m);
    for (uint32_t i = 0; !broken && i < m->memory.device_count; i++) {
        const MemDevice *d = m->memory.devices[i];
        broken = check_device_counters(&d->counters);
        broken = broken ? broken : mem_device_check_state(d);
        broken = broken ? broken : mem_persist_check(&d->persist);
    }
    return broken;
}
