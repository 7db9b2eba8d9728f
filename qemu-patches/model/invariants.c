/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Conservation laws that hold between calls, after any sequence of calls. */
#include "front.h"

static const char *check_host_counters(const MemMemory *m) {
    const MemCounters sum = mem_memory_counters(m);
    const MemCounters *n = &sum;
    uint64_t unsent = 0, before = 0;

    for (uint32_t i = 0; i < m->core_count; i++) {
        unsent += m->cores[i]->arrivals.unsent_count + m->cores[i]->prefetches_lost;
        before += m->cores[i]->prefetches_before;
    }
    if (n->l1_misses > n->loads + n->stores || n->l2_misses > n->l1_misses || n->llc_misses > n->l2_misses) {
        return "no level misses more often than it is asked";
    }
    if (n->llc_misses + n->prefetches + before != n->dram_reads + n->cxl_reads + unsent) {
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

/*
 * Counts the operations under way when the core goes on. A count of taken places would miss an operation without a
 * place.
 */
static const char *check_under_way(const MemCore *c, mem_ps at_ps) {
    uint64_t loads = loads_under_way(c, at_ps), prefetched = mem_in_flight_count(&c->arrivals, c->number, at_ps);

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

/* Device lines that the CPU holds dirty, divided into lines that their device knows to be dirty and other lines. */
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

static void tally_open_buffers(DirtyTally *tally, const MemWc *wc) {
    for (uint32_t i = 0; i < wc->count; i++) {
        if (wc->buffers[i].open) {
            tally_line(tally, wc->buffers[i].line);
        }
    }
}

static const char *check_dirty_lines(const MemSys *m) {
    DirtyTally tally = {.m = m};

    mem_cpu_visit_dirty_llc(&m->cpus[0].caches, tally_line, &tally);
    for (uint32_t i = 0; i < m->cpu_count; i++) {
        mem_cpu_visit_dirty(&m->cpus[i].caches, tally_line, &tally);
        tally_open_buffers(&tally, &m->cpus[i].wc);
    }
    for (uint32_t i = 0; i < m->memory.device_count; i++) {
        if (tally.unknown || tally.known[i] != m->memory.devices[i]->persist.cpu_dirty_count) {
            return "the device lines that are CPU-dirty are those dirty in a cache or gathered in a WC buffer";
        }
    }
    return NULL;
}

static bool has_buffer(const MemSys *m, uint64_t line, const MemCpu *but, uint32_t but_buffer) {
    for (uint32_t i = 0; i < m->cpu_count; i++) {
        const MemCpu *cpu = &m->cpus[i];
        uint32_t found = mem_wc_find(&cpu->wc, line);
        if (found != MEM_NO_BUFFER && (cpu != but || found != but_buffer)) {
            return true;
        }
    }
    return false;
}

static bool has_line(const MemSys *m, uint64_t line) {
    for (uint32_t i = 0; i < m->cpu_count; i++) {
        if (mem_cpu_has(&m->cpus[i].caches, line)) {
            return true;
        }
    }
    return false;
}

static const char *check_buffers(const MemSys *m, const MemCpu *cpu) {
    uint32_t open = 0;

    for (uint32_t i = 0; i < cpu->wc.count; i++) {
        const MemWcBuffer *b = &cpu->wc.buffers[i];
        open += b->open;
        if (b->open && (has_line(m, b->line) || has_buffer(m, b->line, cpu, i))) {
            return "a line gathered in a WC buffer is in no other buffer and in no cache";
        }
    }
    if (open != cpu->wc.open_count || open + cpu->core.wc_buffers.count != cpu->wc.count) {
        return "open WC buffers are counted right";
    }
    return NULL;
}

static const char *check_cpu(const MemSys *m, const MemCpu *cpu) {
    const char *broken = mem_cpu_check(&cpu->caches);

    broken = broken ? broken : check_under_way(&cpu->core, mem_later(cpu->now_ps, cpu->resumes_ps));
    return broken ? broken : check_buffers(m, cpu);
}

const char *memsys_check_invariants(const MemSys *m) {
    const char *broken = check_host_counters(&m->memory);

    for (uint32_t i = 0; !broken && i < m->cpu_count; i++) {
        broken = check_cpu(m, &m->cpus[i]);
    }
    broken = broken || m->cpu_count == 1 ? broken : mem_sys_check_coherence(m);
    broken = broken ? broken : check_dirty_lines(m);
    for (uint32_t i = 0; !broken && i < m->memory.device_count; i++) {
        const MemDevice *d = m->memory.devices[i];
        broken = check_device_counters(&d->counters);
        broken = broken ? broken : mem_device_check_state(d);
        broken = broken ? broken : mem_persist_check(&d->persist);
    }
    return broken;
}
