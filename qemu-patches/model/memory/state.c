/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Set-up, modes and counters of what is behind the CPU's caches. */
#include "memory_internal.h"

#include <stdlib.h>
#include <string.h>

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

void mem_memory_set_timed(MemMemory *m, bool timed, mem_ps now_ps) {
    mem_memory_send_all_prefetches(m, now_ps);
    mem_core_clear(&m->core);
    mem_dram_set_timed(&m->dram, timed);
    for (uint32_t i = 0; i < m->device_count; i++) {
        mem_device_set_timed(m->devices[i], timed, now_ps);
    }
    m->issued_ps = now_ps;
    use_mode(m, timed);
}
