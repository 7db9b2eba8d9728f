/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Set-up, modes and counters of the memory behind the CPU's caches. */
#include "memory_internal.h"

#include <stdlib.h>
#include <string.h>

static void use_mode(MemMemory *m, bool timed) {
    m->timed = timed;
    for (uint32_t i = 0; i < m->core_count; i++) {
        MemCore *c = m->cores[i];
        c->count = timed ? &c->counters : &c->ignored;
    }
    m->llc_ps = timed ? m->llc_configured_ps : 0;
    m->c2c_ps = timed ? m->c2c_configured_ps : 0;
    m->upgrade_ps = timed ? m->upgrade_configured_ps : 0;
}

void mem_memory_init(MemMemory *m, const MemCpuConfig *cpu) {
    memset(m, 0, sizeof(*m));
    mem_dram_init(&m->dram, cpu);
    mem_in_flight_init(&m->writes);
    mem_in_flight_init(&m->under_way);
    m->c2c_configured_ps = cpu->c2c_ps;
    m->upgrade_configured_ps = cpu->upgrade_ps;
    m->llc_configured_ps = cpu->llc.latency_ps;
    m->supply.cut_after = UINT64_MAX;
    use_mode(m, false);
}

uint32_t mem_memory_add_core(MemMemory *m, MemCore *core, const MemCpuConfig *cpu) {
    assert(m->core_count < MEMSYS_MAX_CORES);
    mem_core_init(core, cpu);
    core->number = (uint8_t)m->core_count;
    m->cores[m->core_count] = core;
    return m->core_count++;
}

void mem_memory_destroy(MemMemory *m) {
    for (uint32_t i = 0; i < m->core_count; i++) {
        mem_core_destroy(m->cores[i]);
    }
    mem_in_flight_destroy(&m->writes);
    mem_in_flight_destroy(&m->under_way);
    for (uint32_t i = 0; i < m->device_count; i++) {
        mem_device_destroy(m->devices[i]);
        free(m->devices[i]);
    }
}

void mem_memory_reset_counters(MemMemory *m) {
    for (uint32_t i = 0; i < m->core_count; i++) {
        MemCore *c = m->cores[i];
        c->counters = (MemCounters){0};
        c->prefetches_before = c->arrivals.unsent_count;
        c->prefetches_lost = 0;
    }
    for (uint32_t i = 0; i < m->device_count; i++) {
        m->devices[i]->counters = (MemCounters){0};
        mem_hotness_clear(&m->devices[i]->hotness);
    }
    memset(m->histograms, 0, sizeof(m->histograms));
}

MemCounters mem_memory_counters(const MemMemory *m) {
    MemCounters sum = {0};

    for (uint32_t i = 0; i < m->core_count; i++) {
        memsys_add_counters(&sum, &m->cores[i]->counters);
    }
    for (uint32_t i = 0; i < m->device_count; i++) {
        memsys_add_counters(&sum, &m->devices[i]->counters);
    }
    return sum;
}

void mem_memory_reset_host(MemMemory *m) {
    for (uint32_t i = 0; i < m->core_count; i++) {
        MemCore *c = m->cores[i];
        c->prefetches_lost += c->arrivals.unsent_count;
        mem_core_clear(c);
        c->wc_buffers.count = c->wc_buffers.room;
    }
    mem_in_flight_clear(&m->writes);
    mem_in_flight_clear(&m->under_way);
    mem_dram_set_timed(&m->dram, m->timed);
}

uint32_t mem_memory_add_device(MemMemory *m, const MemDeviceConfig *config, const MemMedia *media,
                               const MemCallbacks *cb) {
    assert(m->device_count < MEMSYS_MAX_DEVICES);
    uint32_t number = m->device_count++;
    MemDevice *d = mem_calloc(1, sizeof(*d));

    mem_device_init(d, number, config, media, cb, &m->supply);
    mem_device_set_timed(d, m->timed, m->cores[0]->issued_ps);
    m->devices[number] = d;
    m->loses_lines |= config->flash_channels && config->flash_read_errors;
    return number;
}

void mem_memory_set_timed(MemMemory *m, bool timed, mem_ps now_ps) {
    for (uint32_t i = 0; i < m->core_count; i++) {
        MemCore *c = m->cores[i];
        mem_memory_send_all_prefetches(m, c, now_ps);
        mem_core_clear(c);
        c->issued_ps = now_ps;
    }
    mem_in_flight_clear(&m->writes);
    mem_in_flight_clear(&m->under_way);
    mem_dram_set_timed(&m->dram, timed);
    for (uint32_t i = 0; i < m->device_count; i++) {
        mem_device_set_timed(m->devices[i], timed, now_ps);
    }
    use_mode(m, timed);
}
