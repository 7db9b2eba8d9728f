/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Set-up, modes, power and queries of a MemSys. */
#include "front.h"

#include <stdlib.h>
#include <string.h>

static void use_mode(MemSys *m, bool timed) {
    m->l2_ps = timed ? m->l2_configured_ps : 0;
    m->llc_ps = timed ? m->llc_configured_ps : 0;
}

static void set_instruction_costs(MemSys *m, const MemCpuConfig *cpu) {
    const mem_ps insn_ps[MEM_INSN_COSTS] = {
        [MEM_INSN_CPUID] = cpu->cpuid_ps,     [MEM_INSN_RDMSR] = cpu->rdmsr_ps,
        [MEM_INSN_WRMSR] = cpu->wrmsr_ps,     [MEM_INSN_MOV_CR] = cpu->mov_cr_ps,
        [MEM_INSN_MOV_CR3] = cpu->mov_cr3_ps, [MEM_INSN_MOV_DR] = cpu->mov_dr_ps,
        [MEM_INSN_INVLPG] = cpu->invlpg_ps,   [MEM_INSN_LOAD_TABLE] = cpu->load_table_ps,
        [MEM_INSN_IRET] = cpu->iret_ps,       [MEM_INSN_RDTSC] = cpu->rdtsc_ps,
        [MEM_INSN_WBINVD] = cpu->wbinvd_ps,
    };
    memcpy(m->insn_ps, insn_ps, sizeof(insn_ps));
}

static uint64_t private_lines(const MemCpuConfig *cpu) {
    return (cpu->l1d.size_bytes + cpu->l2.size_bytes) / MEMSYS_LINE_BYTES;
}

static void init_cpu(MemSys *m, uint32_t number, const MemCpuConfig *config) {
    MemCpu *cpu = &m->cpus[number];

    mem_cpu_init(&cpu->caches, config, number ? &m->cpus[0].caches : NULL);
    mem_streams_init(&cpu->streams, config);
    mem_wc_init(&cpu->wc, config->wc_buffers);
    cpu->number = mem_memory_add_core(&m->memory, &cpu->core, config);
}

MemSys *memsys_new(const MemCpuConfig *cpu, const MemCallbacks *cb) {
    assert(!memsys_check_cpu(cpu));
    size_t size_bytes = sizeof(MemSys) + cpu->cores * sizeof(MemCpu);
    MemSys *m = mem_aligned_alloc(alignof(MemSys), size_bytes);

    memset(m, 0, size_bytes);
    mem_memory_init(&m->memory, cpu);
    m->cpu_count = cpu->cores;
    if (m->cpu_count > 1) {
        assert(cb->l1_slot_shared);
        mem_directory_init(&m->directory, m->cpu_count * private_lines(cpu));
    }
    for (uint32_t i = 0; i < m->cpu_count; i++) {
        init_cpu(m, i, cpu);
    }
    m->l2_configured_ps = cpu->l2.latency_ps;
    m->llc_configured_ps = cpu->llc.latency_ps;
    m->overlap = (MemOverlap)cpu->overlap;
    m->stores_posted = cpu->store_buffer != 0;
    m->clwb_keeps_line = cpu->clwb_keeps_line;
    m->pause_ps = cpu->pause_ps;
    m->ipi_ps = cpu->ipi_ps;
    m->lock_ps = cpu->lock_ps;
    set_instruction_costs(m, cpu);
    m->callbacks = *cb;
    m->posted = mem_sys_posted_new(memsys_l1_slots(m));
    use_mode(m, false);
    return m;
}

void memsys_free(MemSys *m) {
    if (!m) {
        return;
    }
    for (uint32_t i = m->cpu_count; i-- > 0;) {
        mem_cpu_destroy(&m->cpus[i].caches);
        mem_streams_destroy(&m->cpus[i].streams);
        mem_wc_destroy(&m->cpus[i].wc);
    }
    mem_directory_destroy(&m->directory);
    mem_memory_destroy(&m->memory);
    mem_sys_posted_free(m->posted);
    free(m);
}

void memsys_set_observer(MemSys *m, const MemObserver *observer) {
    assert(!observer || m->cpu_count == 1); /* a trace does not record the core of an operation */
    m->observer = observer;
}

uint32_t memsys_add_device(MemSys *m, const MemDeviceConfig *config, const MemMedia *media) {
    assert(!memsys_check_device(config));
    return mem_memory_add_device(&m->memory, config, media, &m->callbacks);
}

void memsys_set_media(MemSys *m, uint32_t device, const MemMedia *media) {
    assert(device < m->memory.device_count);
    mem_persist_set_media(&m->memory.devices[device]->persist, media);
}

/* Run the events due by now, for an action on all cores. With several cores, each keeps its clock. */
static mem_ps enter_all(MemSys *m, mem_ps now_ps) {
    for (uint32_t i = 0; i < m->cpu_count; i++) {
        now_ps = mem_later(now_ps, m->cpus[i].now_ps);
    }
    if (m->cpu_count == 1) {
        m->cpus[0].now_ps = now_ps;
    }
    mem_sys_run_due(m, now_ps);
    return now_ps;
}

/* The earliest time at which some core may go on, but not before the latest call. */
static mem_ps time_now(const MemSys *m) {
    mem_ps called_ps = 0, goes_on_ps = UINT64_MAX;

    for (uint32_t i = 0; i < m->cpu_count; i++) {
        const MemCpu *cpu = &m->cpus[i];
        called_ps = mem_later(called_ps, cpu->now_ps);
        goes_on_ps = cpu->resumes_ps < goes_on_ps ? cpu->resumes_ps : goes_on_ps;
    }
    return mem_later(called_ps, goes_on_ps);
}

const char *memsys_reconfigure_device(MemSys *m, uint32_t device, const MemDeviceConfig *config) {
    assert(device < m->memory.device_count);
    const char *fault = mem_device_reconfigure(m->memory.devices[device], config);
    if (!fault && m->observer) {
        m->observer->reconfigure(m->observer->opaque, device, config, time_now(m));
    }
    return fault;
}

void memsys_flash_save(const MemSys *m, uint32_t device, void (*sink)(void *opaque, const void *bytes, size_t count),
                       void *opaque) {
    assert(device < m->memory.device_count);
    if (m->memory.devices[device]->has_flash) {
        mem_flash_save(&m->memory.devices[device]->flash, sink, opaque);
    }
}

const char *memsys_flash_load(MemSys *m, uint32_t device, const void *bytes, size_t count) {
    assert(device < m->memory.device_count);
    if (!m->memory.devices[device]->has_flash) {
        return "the device has no flash";
    }
    return mem_flash_load(&m->memory.devices[device]->flash, bytes, count);
}

uint64_t memsys_life_used_percent(const MemSys *m, uint32_t device) {
    assert(device < m->memory.device_count);
    const MemDevice *d = m->memory.devices[device];
    return d->has_flash && d->flash.ftl ? mem_ftl_life_used_percent(d->flash.ftl, d->config.flash_endurance_cycles)
                                        : MEM_LIFE_UNKNOWN;
}

uint32_t memsys_hot_pages(const MemSys *m, uint32_t device, MemHotPage *pages) {
    assert(device < m->memory.device_count);
    const MemDevice *d = m->memory.devices[device];
    return mem_hotness_top(&d->hotness, pages, d->config.hot_pages);
}

uint32_t memsys_l1_slots(const MemSys *m) { return mem_cpu_l1_slots(&m->cpus[0].caches); }

/* ---- Emptying the caches ---- */

/* The core that writes back the lines of all cores. */
typedef struct WriteBack {
    MemSys *m;
    MemCpu *by;
} WriteBack;

static void write_back_visited(void *opaque, uint64_t line) {
    const WriteBack *w = opaque;
    w->by->resumes_ps = mem_sys_op(w->m, w->by, MEM_OP_WRITE_BACK, line, w->by->resumes_ps);
}

static void drop_all_lines(MemSys *m) {
    for (uint32_t i = 0; i < m->cpu_count; i++) {
        MemCpu *cpu = &m->cpus[i];
        for (uint32_t slot = 0; slot < memsys_l1_slots(m); slot++) {
            if (mem_cpu_l1_slot_holds_line(&cpu->caches, slot)) {
                mem_sys_drop_slot(m, cpu, slot);
            }
        }
        mem_cpu_clear(&cpu->caches);
    }
    mem_directory_clear(&m->directory);
}

/*
 * Send this core's WC buffers, then the other cores'; write back the dirty lines, core by core, the LLC last; drop all.
 */
static void empty_caches(MemSys *m, MemCpu *by) {
    WriteBack w = {.m = m, .by = by};

    by->resumes_ps = mem_sys_send_wc_buffers(m, by, by->now_ps);
    for (uint32_t i = 0; i < m->cpu_count; i++) {
        while (m->cpus[i].wc.open_count) {
            mem_sys_send_for_other(m, &m->cpus[i], mem_wc_oldest(&m->cpus[i].wc), by->resumes_ps);
        }
    }
    for (uint32_t i = 0; i < m->cpu_count; i++) {
        mem_cpu_visit_dirty(&m->cpus[i].caches, write_back_visited, &w);
    }
    mem_cpu_visit_dirty_llc(&by->caches, write_back_visited, &w);
    drop_all_lines(m);
}

mem_ps memsys_wbinvd(MemSys *m, uint32_t core, mem_ps now_ps) {
    MemCpu *cpu = mem_sys_cpu(m, core);

    now_ps = mem_sys_enter(m, cpu, now_ps);
    empty_caches(m, cpu);
    cpu->core.count->fences++;
    return mem_sys_op(m, cpu, MEM_OP_FULL_FENCE, 0, cpu->resumes_ps) - now_ps;
}

void memsys_map_window(MemSys *m, uint32_t index, const MemWindow *window, mem_ps now_ps) {
    assert(index < MEMSYS_MAX_WINDOWS);
    mem_sys_enter(m, &m->cpus[0], now_ps);
    if (memcmp(window, &m->memory.windows[index], sizeof(*window)) == 0) {
        return;
    }
    empty_caches(m, &m->cpus[0]);
    mem_memory_map_window(&m->memory, index, window);
    if (m->observer) {
        m->observer->window(m->observer->opaque, index, window, time_now(m));
    }
}

const MemWindow *memsys_window(const MemSys *m, uint32_t index) {
    assert(index < MEMSYS_MAX_WINDOWS);
    return &m->memory.windows[index];
}

bool memsys_is_local(const MemSys *m, uint64_t hpa) { return !mem_memory_window(&m->memory, hpa); }

bool memsys_device_address(const MemSys *m, uint64_t hpa, uint32_t *device, uint64_t *dpa) {
    uint64_t line;
    const MemDevice *d = mem_memory_route(&m->memory, hpa >> LINE_SHIFT, &line);

    if (d) {
        *device = d->persist.device;
        *dpa = line * MEMSYS_LINE_BYTES + hpa % MEMSYS_LINE_BYTES;
    }
    return d;
}

bool memsys_is_persistent(const MemSys *m, uint64_t hpa) {
    uint64_t line;
    const MemDevice *d = mem_memory_route(&m->memory, hpa >> LINE_SHIFT, &line);

    return d && line * MEMSYS_LINE_BYTES >= d->config.volatile_bytes;
}

/* ---- Modes and counters ---- */

void memsys_set_timed(MemSys *m, bool timed) {
    if (timed == m->memory.timed) {
        return;
    }
    mem_ps now_ps = enter_all(m, time_now(m)); /* a core changes the mode, so that core is past its wait */
    mem_memory_set_timed(&m->memory, timed, now_ps);
    use_mode(m, timed);
    if (m->observer) {
        m->observer->timed(m->observer->opaque, timed, now_ps);
    }
}

void memsys_reset_counters(MemSys *m) {
    mem_memory_reset_counters(&m->memory);
    if (m->observer) {
        m->observer->reset_counters(m->observer->opaque);
    }
}

MemCounters memsys_counters(const MemSys *m) { return mem_memory_counters(&m->memory); }

MemCounters memsys_core_counters(const MemSys *m, uint32_t core) {
    assert(core < m->cpu_count);
    return m->cpus[core].core.counters;
}

MemCounters memsys_device_counters(const MemSys *m, uint32_t device) {
    assert(device < m->memory.device_count);
    return m->memory.devices[device]->counters;
}

const MemHistogram *memsys_histogram(const MemSys *m, unsigned cause) {
    assert(cause < MEM_CAUSE_COUNT);
    return &m->memory.histograms[cause];
}

MemLineState memsys_line_state(const MemSys *m, uint32_t device, uint64_t dpa, mem_ps now_ps) {
    assert(device < m->memory.device_count);
    return mem_persist_state(&m->memory.devices[device]->persist, dpa >> LINE_SHIFT, now_ps);
}

/* ---- Power ---- */

uint64_t memsys_persistence_events(const MemSys *m) { return m->memory.supply.event_count; }

void memsys_cut_after(MemSys *m, uint64_t count) { m->memory.supply.cut_after = count; }

/* Reset the CPU and local DRAM after a loss of power: the contents of the caches are lost. */
static void reset_host(MemSys *m) {
    drop_all_lines(m);
    for (uint32_t i = 0; i < m->cpu_count; i++) {
        mem_wc_clear(&m->cpus[i].wc);
    }
    mem_memory_reset_host(&m->memory);
}

MemPowerCut memsys_power_cut(MemSys *m, mem_ps now_ps) {
    MemPowerCut outcome = {0};

    now_ps = enter_all(m, now_ps);
    reset_host(m);
    for (uint32_t i = 0; i < m->memory.device_count; i++) {
        MemPowerCut cut = mem_device_power_cut(m->memory.devices[i], now_ps);
        outcome.lines_lost += cut.lines_lost;
        outcome.lines_kept += cut.lines_kept;
        outcome.energy_used_nj += cut.energy_used_nj;
        outcome.dirty_shutdown |= cut.dirty_shutdown;
    }
    m->memory.supply.cut_after = UINT64_MAX;
    return outcome;
}

MemPowerCut memsys_device_power_cut(const MemSys *m, uint32_t device) {
    assert(device < m->memory.device_count);
    return m->memory.devices[device]->cut;
}

void memsys_power_off(MemSys *m, mem_ps now_ps) {
    now_ps = enter_all(m, now_ps);
    reset_host(m);
    for (uint32_t i = 0; i < m->memory.device_count; i++) {
        mem_device_power_off(m->memory.devices[i], now_ps);
    }
    m->memory.supply.cut_after = UINT64_MAX;
}
