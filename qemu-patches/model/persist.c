/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "persist.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "mem_alloc.h"
#include "mem_hash.h"
#include "seeded_bug.h"

#define FIRST_ROOM 256u
#define NO_LINE UINT64_MAX

/* ---- Pools: records and versions are indices into arrays that only grow. ---- */

static void add_free_records(MemPersist *p, uint32_t from) {
    for (uint32_t i = p->record_room; i-- > from;) {
        p->records[i].line = NO_LINE;
        p->records[i].hash_next = p->free_record;
        p->free_record = i;
    }
}

static void add_free_versions(MemPersist *p, uint32_t from) {
    for (uint32_t i = p->version_room; i-- > from;) {
        p->versions[i].newer = p->free_version;
        p->free_version = i;
    }
}

static uint32_t *bucket_of(const MemPersist *p, uint64_t line) { return &p->buckets[mem_hash(line, p->bucket_shift)]; }

static void hash_all_records(MemPersist *p) {
    size_t buckets = (size_t)1 << (64 - p->bucket_shift);

    p->buckets = mem_regrow(p->buckets, buckets, sizeof(*p->buckets));
    memset(p->buckets, 0xff, buckets * sizeof(*p->buckets)); /* MEM_NO_INDEX */
    for (uint32_t i = 0; i < p->record_room; i++) {
        MemLineRecord *r = &p->records[i];
        if (r->line != NO_LINE) {
            uint32_t *bucket = bucket_of(p, r->line);
            r->hash_next = *bucket;
            *bucket = i;
        }
    }
}

static void grow_records(MemPersist *p) {
    uint32_t old_room = p->record_room;

    p->record_room = old_room ? old_room * 2 : FIRST_ROOM;
    p->records = mem_regrow(p->records, p->record_room, sizeof(*p->records));
    add_free_records(p, old_room);
    p->bucket_shift = mem_hash_shift(p->record_room);
    hash_all_records(p);
}

static void grow_versions(MemPersist *p) {
    uint32_t old_room = p->version_room;

    p->version_room = old_room ? old_room * 2 : FIRST_ROOM;
    p->versions = mem_regrow(p->versions, p->version_room, sizeof(*p->versions));
    add_free_versions(p, old_room);
}

void mem_persist_init(MemPersist *p, const MemDeviceConfig *config, uint8_t *media, const MemCallbacks *cb) {
    *p = (MemPersist){
        .media = media,
        .cache_protected = config->cache_power_loss_protected || MEM_HAS_BUG(MEM_BUG_DURABLE_IN_CACHE),
        .callbacks = *cb,
        .free_record = MEM_NO_INDEX,
        .free_version = MEM_NO_INDEX,
        .uncaptured = MEM_NO_INDEX,
    };
    grow_records(p);
    grow_versions(p);
    mem_events_init(&p->events);
}

void mem_persist_destroy(MemPersist *p) {
    free(p->records);
    free(p->versions);
    free(p->buckets);
    mem_events_destroy(&p->events);
}

static uint8_t *live_bytes(const MemPersist *p, uint64_t line) { return p->media + line * MEMSYS_LINE_BYTES; }

static uint32_t find_record(const MemPersist *p, uint64_t line) {
    uint32_t index = *bucket_of(p, line);
    while (index != MEM_NO_INDEX && p->records[index].line != line) {
        index = p->records[index].hash_next;
    }
    return index;
}

static uint32_t new_record(MemPersist *p, uint64_t line) {
    if (p->free_record == MEM_NO_INDEX) {
        grow_records(p);
    }
    uint32_t index = p->free_record;
    MemLineRecord *r = &p->records[index];
    uint32_t *bucket = bucket_of(p, line);

    p->free_record = r->hash_next;
    p->record_count++;
    r->line = line;
    r->hash_next = *bucket;
    r->oldest = MEM_NO_INDEX;
    r->newest = MEM_NO_INDEX;
    r->cpu_dirty = false;
    *bucket = index;
    return index;
}

static void free_record(MemPersist *p, uint32_t index) {
    MemLineRecord *r = &p->records[index];
    uint32_t *link = bucket_of(p, r->line);

    while (*link != index) {
        link = &p->records[*link].hash_next;
    }
    *link = r->hash_next;
    r->line = NO_LINE;
    r->hash_next = p->free_record;
    p->free_record = index;
    p->record_count--;
}

static uint32_t append_version(MemPersist *p, uint32_t record, mem_ps accepted_ps) {
    if (p->free_version == MEM_NO_INDEX) {
        grow_versions(p);
    }
    uint32_t index = p->free_version;
    MemVersion *v = &p->versions[index];
    MemLineRecord *r = &p->records[record];

    p->free_version = v->newer;
    p->version_count++;
    v->record = record;
    v->newer = MEM_NO_INDEX;
    v->state = MEM_LINE_IN_FLIGHT;
    v->accepted_ps = accepted_ps;
    v->program_ps = MEM_NEVER;
    v->programmed_ps = MEM_NEVER;
    if (r->newest == MEM_NO_INDEX) {
        r->oldest = index;
    } else {
        assert(p->versions[r->newest].accepted_ps <= accepted_ps);
        p->versions[r->newest].newer = index;
    }
    r->newest = index;
    return index;
}

static void free_oldest_version(MemPersist *p, MemLineRecord *r) {
    uint32_t index = r->oldest;

    r->oldest = p->versions[index].newer;
    if (r->oldest == MEM_NO_INDEX) {
        r->newest = MEM_NO_INDEX;
    }
    p->versions[index].newer = p->free_version;
    p->free_version = index;
    p->version_count--;
}

/* ---- States ---- */

static MemLineState newest_state(const MemPersist *p, const MemLineRecord *r) {
    if (r->cpu_dirty) {
        return MEM_LINE_CPU_DIRTY;
    }
    return r->newest == MEM_NO_INDEX ? MEM_LINE_DURABLE : p->versions[r->newest].state;
}

static void report(const MemPersist *p, uint64_t line, MemLineState from, MemLineState to, mem_ps at_ps) {
    if (p->callbacks.line_state && from != to) {
        p->callbacks.line_state(p->callbacks.opaque, line * MEMSYS_LINE_BYTES, from, to, at_ps);
    }
}

void mem_persist_dirtied(MemPersist *p, uint64_t line, mem_ps at_ps) {
    uint32_t index = find_record(p, line);
    bool tracked = index != MEM_NO_INDEX;

    if (!tracked) {
        index = new_record(p, line);
    }
    MemLineRecord *r = &p->records[index];
    MemLineState from = newest_state(p, r);
    assert(!r->cpu_dirty);
    if ((!tracked && !MEM_HAS_BUG(MEM_BUG_NO_PREIMAGE)) || (tracked && MEM_HAS_BUG(MEM_BUG_RESAVED_PREIMAGE))) {
        memcpy(r->durable, live_bytes(p, line), MEMSYS_LINE_BYTES);
    }
    r->cpu_dirty = true;
    p->cpu_dirty_count++;
    report(p, line, from, MEM_LINE_CPU_DIRTY, at_ps);
}

void mem_persist_written_back(MemPersist *p, uint64_t line, mem_ps at_ps, mem_ps accepted_ps, bool capture_later) {
    uint32_t index = find_record(p, line);
    assert(index != MEM_NO_INDEX && p->records[index].cpu_dirty);
    MemLineRecord *r = &p->records[index];

    r->cpu_dirty = false;
    p->cpu_dirty_count--;
    if (p->cache_protected && accepted_ps <= at_ps && r->newest == MEM_NO_INDEX) {
        free_record(p, index); /* durable at once: the live bytes are the durable ones */
        report(p, line, MEM_LINE_CPU_DIRTY, MEM_LINE_DURABLE, at_ps);
        return;
    }
    uint32_t version = append_version(p, index, MEM_HAS_BUG(MEM_BUG_DURABLE_WHEN_SENT) ? at_ps : accepted_ps);
    p->uncaptured = version;
    if (!capture_later || MEM_HAS_BUG(MEM_BUG_EARLY_CAPTURE)) {
        mem_persist_capture(p);
    }
    mem_events_add(&p->events, p->versions[version].accepted_ps, version);
    report(p, line, MEM_LINE_CPU_DIRTY, MEM_LINE_IN_FLIGHT, at_ps);
}

void mem_persist_capture(MemPersist *p) {
    if (p->uncaptured != MEM_NO_INDEX) {
        MemVersion *v = &p->versions[p->uncaptured];
        memcpy(v->bytes, live_bytes(p, p->records[v->record].line), MEMSYS_LINE_BYTES);
        p->uncaptured = MEM_NO_INDEX;
    }
}

void mem_persist_programmed(MemPersist *p, uint64_t first, uint64_t count, mem_ps start_ps, mem_ps end_ps) {
    for (uint64_t line = first; !p->cache_protected && line < first + count; line++) {
        uint32_t index = find_record(p, line);
        if (index == MEM_NO_INDEX || p->records[index].newest == MEM_NO_INDEX) {
            continue;
        }
        uint32_t version = p->records[index].newest;
        MemVersion *v = &p->versions[version];
        if (v->program_ps == MEM_NEVER) {
            assert(v->accepted_ps <= start_ps);
            v->program_ps = start_ps;
            v->programmed_ps = end_ps;
            mem_events_add(&p->events, start_ps, version);
            mem_events_add(&p->events, end_ps, version);
        }
    }
}

/* The newest version's bytes reached the flash, or a protected cache. */
static void make_durable(MemPersist *p, uint32_t version) {
    MemVersion *v = &p->versions[version];
    uint32_t record = v->record;
    MemLineRecord *r = &p->records[record];

    assert(r->oldest == version);
    memcpy(r->durable, v->bytes, MEMSYS_LINE_BYTES);
    free_oldest_version(p, r);
    if (r->newest == MEM_NO_INDEX && !r->cpu_dirty) {
        free_record(p, record);
    }
}

/*
 * In an unprotected cache a version replaces those before it. Programs of older
 * ones have ended: the page had to be read back through the same channel.
 */
static void drop_overwritten(MemPersist *p, MemLineRecord *r, uint32_t version) {
    while (r->oldest != version) {
        assert(p->versions[r->oldest].program_ps == MEM_NEVER);
        free_oldest_version(p, r);
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

/* Each event moves its version on by one state. */
static void run_event(MemPersist *p, uint32_t version, mem_ps at_ps) {
    MemVersion *v = &p->versions[version];
    MemLineRecord *r = &p->records[v->record];
    MemLineState from = v->state;
    MemLineState to = state_after(p, from);
    bool newest = r->newest == version && !r->cpu_dirty;
    uint64_t line = r->line;

    v->state = to;
    if (to == MEM_LINE_DEVICE_CACHE) {
        v->accepted_ps = at_ps;
        drop_overwritten(p, r, version);
    } else if (to == MEM_LINE_DURABLE) {
        make_durable(p, version);
    }
    if (newest) {
        report(p, line, from, to, at_ps);
    }
}

void mem_persist_run(MemPersist *p, mem_ps now_ps) {
    while (mem_events_next_ps(&p->events) <= now_ps) {
        MemEvent event = mem_events_pop(&p->events);
        run_event(p, event.item, event.at_ps);
    }
}

void mem_persist_settle(MemPersist *p, mem_ps now_ps) {
    while (p->events.count) {
        MemEvent event = mem_events_pop(&p->events);
        run_event(p, event.item, event.at_ps < now_ps ? event.at_ps : now_ps);
    }
}

mem_ps mem_persist_in_flight_until(const MemPersist *p, uint64_t line, mem_ps now_ps) {
    uint32_t index = find_record(p, line);
    if (index == MEM_NO_INDEX || p->records[index].newest == MEM_NO_INDEX) {
        return 0;
    }
    mem_ps accepted_ps = p->versions[p->records[index].newest].accepted_ps;
    return accepted_ps > now_ps ? accepted_ps : 0;
}

MemLineState mem_persist_state(const MemPersist *p, uint64_t line, mem_ps now_ps) {
    uint32_t index = find_record(p, line);
    if (index == MEM_NO_INDEX) {
        return MEM_LINE_DURABLE;
    }
    const MemLineRecord *r = &p->records[index];
    if (r->cpu_dirty) {
        return MEM_LINE_CPU_DIRTY;
    }
    const MemVersion *v = &p->versions[r->newest];
    if (now_ps < v->accepted_ps) {
        return MEM_LINE_IN_FLIGHT;
    }
    if (p->cache_protected || now_ps >= v->programmed_ps) {
        return MEM_LINE_DURABLE;
    }
    return now_ps >= v->program_ps ? MEM_LINE_PROGRAMMING : MEM_LINE_DEVICE_CACHE;
}

bool mem_persist_is_cpu_dirty(const MemPersist *p, uint64_t line) {
    uint32_t index = find_record(p, line);
    return index != MEM_NO_INDEX && p->records[index].cpu_dirty;
}

/* ---- Power ---- */

/* Forget all records; each line's state becomes durable. */
static void forget_all(MemPersist *p, mem_ps now_ps) {
    for (uint32_t i = 0; i < p->record_room; i++) {
        if (p->records[i].line != NO_LINE) {
            report(p, p->records[i].line, newest_state(p, &p->records[i]), MEM_LINE_DURABLE, now_ps);
            p->records[i].line = NO_LINE;
        }
    }
    p->free_record = MEM_NO_INDEX;
    p->free_version = MEM_NO_INDEX;
    add_free_records(p, 0);
    add_free_versions(p, 0);
    hash_all_records(p);
    p->record_count = 0;
    p->version_count = 0;
    p->cpu_dirty_count = 0;
    p->uncaptured = MEM_NO_INDEX;
    p->events.count = 0;
}

uint64_t mem_persist_power_cut(MemPersist *p, mem_ps now_ps) {
    uint64_t lost = 0;

    mem_persist_run(p, now_ps);
    for (uint32_t i = 0; i < p->record_room; i++) {
        const MemLineRecord *r = &p->records[i];
        if (r->line != NO_LINE && memcmp(live_bytes(p, r->line), r->durable, MEMSYS_LINE_BYTES) != 0) {
            memcpy(live_bytes(p, r->line), r->durable, MEMSYS_LINE_BYTES);
            lost++;
        }
    }
    forget_all(p, now_ps);
    return lost;
}

void mem_persist_power_off(MemPersist *p, mem_ps now_ps) { forget_all(p, now_ps); }

/* ---- Invariants ---- */

/* Number of versions of a record, or UINT32_MAX if their times or states are out of order. */
static uint32_t sound_versions(const MemPersist *p, uint32_t record) {
    const MemLineRecord *r = &p->records[record];
    uint32_t count = 0;
    uint32_t last = MEM_NO_INDEX;
    mem_ps accepted_ps = 0;

    for (uint32_t i = r->oldest; i != MEM_NO_INDEX; i = p->versions[i].newer) {
        const MemVersion *v = &p->versions[i];
        if (v->record != record || v->accepted_ps < accepted_ps || v->program_ps > v->programmed_ps) {
            return UINT32_MAX;
        }
        accepted_ps = v->accepted_ps;
        last = i;
        count++;
    }
    return last == r->newest ? count : UINT32_MAX;
}

const char *mem_persist_check(const MemPersist *p) {
    uint64_t records = 0;
    uint64_t versions = 0;
    uint64_t cpu_dirty = 0;

    for (uint32_t i = 0; i < p->record_room; i++) {
        const MemLineRecord *r = &p->records[i];
        if (r->line == NO_LINE) {
            continue;
        }
        uint32_t count = sound_versions(p, i);
        if (count == UINT32_MAX) {
            return "the versions of a line are accepted in the order they were sent";
        }
        if (find_record(p, r->line) != i || (count == 0 && !r->cpu_dirty)) {
            return "a line has at most one record, and only while its newest bytes are not durable";
        }
        records++;
        versions += count;
        cpu_dirty += r->cpu_dirty;
    }
    if (records != p->record_count || versions != p->version_count || cpu_dirty != p->cpu_dirty_count) {
        return "records, versions and CPU-dirty lines are counted right";
    }
    return NULL;
}
