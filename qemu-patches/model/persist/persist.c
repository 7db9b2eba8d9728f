/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "persist.h"

#include <assert.h>
#include <string.h>

#include "../base/serial.h"

void mem_persist_reconfigure(MemPersist *p, const MemDeviceConfig *config) {
    uint64_t energy_uj = config->gpf_energy_uj < UINT64_MAX / 1000 ? config->gpf_energy_uj : UINT64_MAX / 1000;

    p->wbarrier_ps = config->wbarrier_latency_ps;
    p->rules = (MemPowerRules){
        .domain = (MemDomain)config->persist_domain,
        .gpf_energy_nj = energy_uj * 1000,
        .gpf_line_nj = config->gpf_line_nj,
        .gpf_page_nj = config->gpf_page_nj,
        .cut_lines = (MemCutLines)config->cut_lines,
        .cut_seed = config->cut_seed,
    };
}

void mem_persist_init(MemPersist *p, uint32_t device, const MemDeviceConfig *config, const MemMedia *media,
                      const MemCallbacks *cb, MemPowerSupply *supply) {
    *p = (MemPersist){
        .media = media ? *media : (MemMedia){0},
        .device = device,
        .first_line = media && media->base ? config->volatile_bytes / MEMSYS_LINE_BYTES : MEM_NO_LINE,
        .cache_protected = config->cache_power_loss_protected,
        .drains = config->flash_channels == 0,
        .page_line_shift = mem_page_line_shift(config),
        .callbacks = *cb,
        .supply = supply,
    };
    mem_persist_reconfigure(p, config);
    mem_pool_init(&p->pool);
    mem_events_init(&p->events);
}

void mem_persist_destroy(MemPersist *p) {
    mem_pool_destroy(&p->pool);
    mem_events_destroy(&p->events);
}

void mem_persist_set_media(MemPersist *p, const MemMedia *media) {
    assert(media->base && p->media.base);
    p->media = *media;
}

uint8_t *mem_persist_live(const MemPersist *p, uint64_t line) {
    return mem_media_at(&p->media, (line - p->first_line) * MEMSYS_LINE_BYTES);
}

MemLineState mem_persist_newest_state(const MemPersist *p, const MemLineRecord *r) {
    if (r->cpu_dirty) {
        return MEM_LINE_CPU_DIRTY;
    }
    return r->newest == MEM_NO_INDEX ? MEM_LINE_DURABLE : p->pool.versions[r->newest].state;
}

void mem_persist_report(const MemPersist *p, uint64_t line, MemLineState from, MemLineState to, mem_ps at_ps) {
    if (p->callbacks.line_state && from != to) {
        p->callbacks.line_state(p->callbacks.opaque, p->device, line * MEMSYS_LINE_BYTES, from, to, at_ps);
    }
}

void mem_persist_listen(MemPersist *p, const MemPageSaved *saved) { p->saved = *saved; }

static void count_event(const MemPersist *p, mem_ps at_ps) {
    if (++p->supply->event_count == p->supply->cut_after && p->callbacks.power_gone) {
        p->callbacks.power_gone(p->callbacks.opaque, at_ps);
    }
}

/* ---- Into the CPU and out of it ---- */

void mem_persist_dirtied(MemPersist *p, uint64_t line, mem_ps at_ps) {
    if (line < p->first_line || p->first_line == MEM_NO_LINE) {
        return;
    }
    uint32_t index = mem_pool_find(&p->pool, line);
    bool tracked = index != MEM_NO_INDEX;

    if (!tracked) {
        index = mem_pool_add_record(&p->pool, line);
    }
    MemLineRecord *r = &p->pool.records[index];
    MemLineState from = mem_persist_newest_state(p, r);
    if (r->cpu_dirty) {
        assert(mem_persist_power_is_gone(p)); /* power was gone, so the write-back before was ignored */
        return;
    }
    if (!tracked) {
        memcpy(r->durable, mem_persist_live(p, line), MEMSYS_LINE_BYTES);
    }
    if (r->newest != MEM_NO_INDEX) {
        memcpy(p->pool.versions[r->newest].bytes, mem_persist_live(p, line), MEMSYS_LINE_BYTES);
    }
    r->cpu_dirty = true;
    p->cpu_dirty_count++;
    mem_persist_report(p, line, from, MEM_LINE_CPU_DIRTY, at_ps);
}

/* When a version's state changes next; MEM_NEVER: not known yet. */
static mem_ps next_change_ps(const MemVersion *v) {
    switch (v->state) {
    case MEM_LINE_IN_FLIGHT:
        return v->accepted_ps;
    case MEM_LINE_DEVICE_CACHE:
        return v->program_ps;
    default:
        assert(v->state == MEM_LINE_PROGRAMMING);
        return v->programmed_ps;
    }
}

/* Voids the version's previously scheduled event. Lines that change at the same time do so in order of number. */
static void schedule(MemPersist *p, uint32_t version) {
    MemVersion *v = &p->pool.versions[version];
    mem_ps at_ps = next_change_ps(v);

    if (at_ps == MEM_NEVER) {
        v->event = MEM_NO_EVENT;
    } else {
        v->event = mem_events_add(&p->events, at_ps, p->pool.records[v->record].line, version);
    }
}

static void send_version(MemPersist *p, uint32_t record, mem_ps accepted_ps) {
    uint32_t version = mem_pool_add_version(&p->pool, record);
    MemVersion *v = &p->pool.versions[version];

    v->state = MEM_LINE_IN_FLIGHT;
    v->accepted_ps = accepted_ps;
    v->program_ps = MEM_NEVER;
    v->programmed_ps = MEM_NEVER;
    if (p->drains && !p->cache_protected) {
        v->program_ps = accepted_ps;
        v->programmed_ps = accepted_ps + p->wbarrier_ps;
    }
    schedule(p, version);
}

void mem_persist_written_back(MemPersist *p, uint64_t line, mem_ps at_ps, mem_ps accepted_ps) {
    if (line < p->first_line || p->first_line == MEM_NO_LINE || mem_persist_power_is_gone(p)) {
        return;
    }
    uint32_t index = mem_pool_find(&p->pool, line);
    assert(index != MEM_NO_INDEX && p->pool.records[index].cpu_dirty);
    MemLineRecord *r = &p->pool.records[index];

    r->cpu_dirty = false;
    p->cpu_dirty_count--;
    p->last_accepted_ps = mem_later(p->last_accepted_ps, accepted_ps);
    count_event(p, at_ps);
    if (p->cache_protected && accepted_ps <= at_ps && r->newest == MEM_NO_INDEX && !mem_persist_power_is_gone(p)) {
        mem_pool_free_record(&p->pool, index); /* durable at once: the live bytes are the durable bytes */
        count_event(p, at_ps);
        mem_persist_report(p, line, MEM_LINE_CPU_DIRTY, MEM_LINE_DURABLE, at_ps);
        return;
    }
    send_version(p, index, accepted_ps);
    mem_persist_report(p, line, MEM_LINE_CPU_DIRTY, MEM_LINE_IN_FLIGHT, at_ps);
}

/* ---- Flash programs ---- */

/* The version that a program starting at `start_ps` finds in the device cache, or MEM_NO_INDEX. */
static uint32_t carried_version(const MemPersist *p, const MemLineRecord *r, mem_ps start_ps) {
    uint32_t carried = MEM_NO_INDEX;

    for (uint32_t i = r->oldest; i != MEM_NO_INDEX; i = p->pool.versions[i].newer) {
        if (p->pool.versions[i].accepted_ps <= start_ps) {
            carried = i;
        }
    }
    return carried;
}

/* Let the version follow a program with these times. A version that is being programmed keeps its start time. */
static void follow(MemPersist *p, uint32_t version, mem_ps start_ps, mem_ps end_ps) {
    MemVersion *v = &p->pool.versions[version];
    mem_ps change_ps = next_change_ps(v);

    if (v->state != MEM_LINE_PROGRAMMING) {
        v->program_ps = start_ps;
    }
    v->programmed_ps = end_ps;
    if (next_change_ps(v) != change_ps) {
        schedule(p, version);
    }
}

/* This program carries the version, too: the version follows the program that ends first. */
static void carry(MemPersist *p, uint32_t version, mem_ps start_ps, mem_ps end_ps) {
    if (end_ps < p->pool.versions[version].programmed_ps) {
        follow(p, version, start_ps, end_ps);
    }
}

void mem_persist_programmed(MemPersist *p, uint64_t first, uint64_t count, mem_ps start_ps, mem_ps end_ps) {
    if (p->cache_protected || p->pool.version_count == 0 || mem_persist_power_is_gone(p)) {
        return;
    }
    for (uint64_t line = first; line < first + count; line++) {
        uint32_t index = mem_pool_find(&p->pool, line);
        if (index != MEM_NO_INDEX) {
            uint32_t version = carried_version(p, &p->pool.records[index], start_ps);
            if (version != MEM_NO_INDEX) {
                carry(p, version, start_ps, end_ps);
            }
        }
    }
}

void mem_persist_program_moved(MemPersist *p, uint64_t first, uint64_t count, mem_ps old_end_ps, mem_ps start_ps,
                               mem_ps end_ps) {
    if (p->cache_protected || p->pool.version_count == 0 || mem_persist_power_is_gone(p)) {
        return;
    }
    for (uint64_t line = first; line < first + count; line++) {
        uint32_t index = mem_pool_find(&p->pool, line);
        uint32_t i = index == MEM_NO_INDEX ? MEM_NO_INDEX : p->pool.records[index].oldest;
        for (; i != MEM_NO_INDEX; i = p->pool.versions[i].newer) {
            if (p->pool.versions[i].programmed_ps == old_end_ps) {
                /* A program without duration ends with the one before it, whose start may precede the acceptance. */
                follow(p, i, mem_later(start_ps, p->pool.versions[i].accepted_ps), end_ps);
            }
        }
    }
}

/* ---- Events ---- */

/* The version's bytes are on flash or in a protected cache. Frees older versions: their programs end without effect. */
static void make_durable(MemPersist *p, uint32_t version) {
    MemVersion *v = &p->pool.versions[version];
    uint32_t record = v->record;
    MemLineRecord *r = &p->pool.records[record];

    if (r->newest != version || r->cpu_dirty) {
        memcpy(r->durable, v->bytes, MEMSYS_LINE_BYTES);
    }
    while (r->oldest != version) {
        mem_pool_free_version(&p->pool, r, MEM_NO_INDEX);
    }
    mem_pool_free_version(&p->pool, r, MEM_NO_INDEX);
    if (r->newest == MEM_NO_INDEX && !r->cpu_dirty) {
        mem_pool_free_record(&p->pool, record);
    }
}

/* A version in the device cache overwrites older ones, but a program that carries an older one can still save it. */
static void drop_overwritten(MemPersist *p, uint32_t version) {
    MemLineRecord *r = &p->pool.records[p->pool.versions[version].record];
    uint32_t before = MEM_NO_INDEX;

    for (uint32_t i = r->oldest; i != version;) {
        uint32_t newer = p->pool.versions[i].newer;
        if (p->pool.versions[i].program_ps == MEM_NEVER) {
            mem_pool_free_version(&p->pool, r, before);
        } else {
            before = i;
        }
        i = newer;
    }
}

static MemLineState state_after(const MemPersist *p, MemLineState state) {
    switch (state) {
    case MEM_LINE_IN_FLIGHT:
        return p->cache_protected ? MEM_LINE_DURABLE : MEM_LINE_DEVICE_CACHE;
    case MEM_LINE_DEVICE_CACHE:
        return MEM_LINE_PROGRAMMING;
    default:
        assert(state == MEM_LINE_PROGRAMMING);
        return MEM_LINE_DURABLE;
    }
}

/* Each event advances its version by one state. */
static void run_event(MemPersist *p, const MemEvent *event, mem_ps at_ps) {
    MemVersion *v = &p->pool.versions[event->item];
    if (v->event != event->order) {
        return; /* the version was rescheduled or freed */
    }
    const MemLineRecord *r = &p->pool.records[v->record];
    MemLineState from = v->state;
    MemLineState to = state_after(p, from);
    bool newest = r->newest == event->item && !r->cpu_dirty;
    uint64_t line = r->line;

    v->state = to;
    if (to == MEM_LINE_DURABLE) {
        count_event(p, at_ps);
        make_durable(p, event->item);
    } else {
        if (to == MEM_LINE_DEVICE_CACHE) {
            v->accepted_ps = at_ps;
            drop_overwritten(p, event->item);
        }
        schedule(p, event->item);
    }
    if (newest) {
        mem_persist_report(p, line, from, to, at_ps);
    }
}

void mem_persist_run(MemPersist *p, mem_ps now_ps) {
    while (mem_events_next_ps(&p->events) <= now_ps && !mem_persist_power_is_gone(p)) {
        MemEvent event = mem_events_pop(&p->events);
        run_event(p, &event, event.at_ps);
    }
}

void mem_persist_settle(MemPersist *p, mem_ps now_ps) {
    while (p->events.count && !mem_persist_power_is_gone(p)) {
        MemEvent event = mem_events_pop(&p->events);
        run_event(p, &event, event.at_ps < now_ps ? event.at_ps : now_ps);
    }
    p->last_accepted_ps = 0;
}

mem_ps mem_persist_barrier(MemPersist *p, mem_ps now_ps) {
    mem_ps accepted_ps = mem_later(now_ps, p->last_accepted_ps);
    mem_ps end_ps = accepted_ps + p->wbarrier_ps;

    if (p->cache_protected || mem_persist_power_is_gone(p)) {
        return end_ps;
    }
    for (uint32_t i = 0; i < p->pool.record_room; i++) {
        const MemLineRecord *r = &p->pool.records[i];
        if (r->line != MEM_NO_LINE && r->newest != MEM_NO_INDEX) {
            carry(p, r->newest, mem_later(now_ps, p->pool.versions[r->newest].accepted_ps), end_ps);
        }
    }
    return end_ps;
}

/* ---- Queries ---- */

mem_ps mem_persist_in_flight_until(const MemPersist *p, uint64_t line, mem_ps now_ps) {
    uint32_t index = mem_pool_find(&p->pool, line);
    if (index == MEM_NO_INDEX || p->pool.records[index].newest == MEM_NO_INDEX) {
        return 0;
    }
    mem_ps accepted_ps = p->pool.versions[p->pool.records[index].newest].accepted_ps;
    return accepted_ps > now_ps ? accepted_ps : 0;
}

MemLineState mem_persist_state(const MemPersist *p, uint64_t line, mem_ps now_ps) {
    uint32_t index = mem_pool_find(&p->pool, line);
    if (index == MEM_NO_INDEX) {
        return MEM_LINE_DURABLE;
    }
    const MemLineRecord *r = &p->pool.records[index];
    if (r->cpu_dirty) {
        return MEM_LINE_CPU_DIRTY;
    }
    const MemVersion *v = &p->pool.versions[r->newest];
    if (now_ps < v->accepted_ps) {
        return MEM_LINE_IN_FLIGHT;
    }
    if (p->cache_protected || now_ps >= v->programmed_ps) {
        return MEM_LINE_DURABLE;
    }
    return now_ps >= v->program_ps ? MEM_LINE_PROGRAMMING : MEM_LINE_DEVICE_CACHE;
}

bool mem_persist_is_cpu_dirty(const MemPersist *p, uint64_t line) {
    uint32_t index = mem_pool_find(&p->pool, line);
    return index != MEM_NO_INDEX && p->pool.records[index].cpu_dirty;
}

const char *mem_persist_check(const MemPersist *p) {
    uint64_t cpu_dirty = 0;

    for (uint32_t i = 0; i < p->pool.record_room; i++) {
        cpu_dirty += p->pool.records[i].line != MEM_NO_LINE && p->pool.records[i].cpu_dirty;
    }
    return cpu_dirty == p->cpu_dirty_count ? mem_pool_check(&p->pool) : "CPU-dirty lines are counted right";
}
