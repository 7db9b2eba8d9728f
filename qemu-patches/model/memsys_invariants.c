/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The conservation laws that hold between calls, whatever the calls were. */
#include "memsys_internal.h"

static const char *check_host_counters(const MemCounters *n) {
    if (n->l1_misses > n->loads + n->stores || n->l2_misses > n->l1_misses || n->llc_misses > n->l2_misses) {
        return "no level misses more often than it is asked";
    }
    if (n->llc_misses != n->dram_reads + n->cxl_reads) {
        return "LLC misses = DRAM reads + device reads";
    }
    return NULL;
}

static const char *check_device_counters(const MemCounters *n) {
    if (n->cache_hits + n->cache_misses != n->cxl_reads + n->cxl_writes) {
        return "device-cache hits + misses = device reads + writes";
    }
    if (n->flash_reads != n->cache_misses || n->flash_programs != n->cache_writebacks + n->flash_gc_moves) {
        return "each device-cache miss reads a page and each write-back programs one, beside what cleaning moves";
    }
    if (n->link_read_bytes != n->cxl_reads * MEMSYS_LINE_BYTES ||
        n->link_write_bytes != n->cxl_writes * MEMSYS_LINE_BYTES) {
        return "link bytes = lines moved * 64";
    }
    return NULL;
}

/* Lines the CPU holds dirty that the device does, and does not, know to be so. */
typedef struct DirtyTally {
    const MemSys *m;
    uint64_t known;
    uint64_t unknown;
} DirtyTally;

static void tally_line(void *opaque, uint64_t line) {
    DirtyTally *tally = opaque;
    uint64_t device_line;

    if (mem_to_device_line(tally->m, line, &device_line)) {
        bool known = mem_persist_is_cpu_dirty(&tally->m->device->persist, device_line);
        tally->known += known;
        tally->unknown += !known;
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
    if (m->device && (tally.unknown || tally.known != m->device->persist.cpu_dirty_count)) {
        return "the device lines that are CPU-dirty are those dirty in a cache or gathered in a WC buffer";
    }
    return NULL;
}

static const char *check_buffers(const MemSys *m) {
    uint32_t open = 0;

    for (uint32_t i = 0; i < m->wc.count; i++) {
        const MemWcBuffer *b = &m->wc.buffers[i];
        open += b->open;
        if (b->open && (mem_fifo_find(&m->cpu.l1, b->line) != MEM_NO_SLOT || mem_lru_has(&m->cpu.l2, b->line) ||
                        mem_lru_has(&m->cpu.llc, b->line) || mem_wc_find(&m->wc, b->line) != i)) {
            return "a line gathered in a WC buffer is in no other buffer and in no cache";
        }
    }
    return open == m->wc.open_count ? NULL : "open WC buffers are counted right";
}

const char *memsys_check_invariants(const MemSys *m) {
    const char *broken = mem_cpu_check(&m->cpu);

    broken = broken ? broken : check_host_counters(&m->counters);
    broken = broken ? broken : check_device_counters(&m->counters);
    broken = broken ? broken : check_buffers(m);
    broken = broken ? broken : check_dirty_lines(m);
    if (m->device) {
        broken = broken ? broken : mem_device_cache_check(&m->device->cache);
        broken = broken ? broken : mem_flash_check_state(&m->device->flash);
        broken = broken ? broken : mem_persist_check(&m->device->persist);
    }
    return broken;
}
