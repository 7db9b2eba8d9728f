/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "persist_pool.h"

#include <stdlib.h>
#include <string.h>

#include "../base/mem_alloc.h"

#define FIRST_ROOM 256u

static void add_free_records(MemPersistPool *pool, uint32_t from) {
    for (uint32_t i = pool->record_room; i-- > from;) {
        pool->records[i].line = MEM_NO_LINE;
        pool->records[i].hash_next = pool->free_record;
        pool->free_record = i;
    }
}

static void add_free_versions(MemPersistPool *pool, uint32_t from) {
    for (uint32_t i = pool->version_room; i-- > from;) {
        pool->versions[i].event = MEM_NO_EVENT;
        pool->versions[i].newer = pool->free_version;
        pool->free_version = i;
    }
}

static uint32_t *bucket_of(const MemPersistPool *pool, uint64_t line) {
    return &pool->buckets[mem_hash(line, pool->bucket_shift)];
}

static void hash_all_records(MemPersistPool *pool) {
    size_t buckets = (size_t)1 << (64 - pool->bucket_shift);

    pool->buckets = mem_regrow(pool->buckets, buckets, sizeof(*pool->buckets));
    memset(pool->buckets, 0xff, buckets * sizeof(*pool->buckets)); /* MEM_NO_INDEX */
    for (uint32_t i = 0; i < pool->record_room; i++) {
        MemLineRecord *r = &pool->records[i];
        if (r->line != MEM_NO_LINE) {
            uint32_t *bucket = bucket_of(pool, r->line);
            r->hash_next = *bucket;
            *bucket = i;
        }
    }
}

static void grow_records(MemPersistPool *pool) {
    uint32_t old_room = pool->record_room;

    pool->record_room = old_room ? old_room * 2 : FIRST_ROOM;
    pool->records = mem_regrow(pool->records, pool->record_room, sizeof(*pool->records));
    add_free_records(pool, old_room);
    pool->bucket_shift = mem_hash_shift(pool->record_room);
    hash_all_records(pool);
}

static void grow_versions(MemPersistPool *pool) {
    uint32_t old_room = pool->version_room;

    pool->version_room = old_room ? old_room * 2 : FIRST_ROOM;
    pool->versions = mem_regrow(pool->versions, pool->version_room, sizeof(*pool->versions));
    add_free_versions(pool, old_room);
}

void mem_pool_init(MemPersistPool *pool) {
    *pool = (MemPersistPool){.free_record = MEM_NO_INDEX, .free_version = MEM_NO_INDEX};
    grow_records(pool);
    grow_versions(pool);
}

void mem_pool_destroy(MemPersistPool *pool) {
    free(pool->records);
    free(pool->versions);
    free(pool->buckets);
}

void mem_pool_clear(MemPersistPool *pool) {
    pool->free_record = MEM_NO_INDEX;
    pool->free_version = MEM_NO_INDEX;
    pool->record_count = 0;
    pool->version_count = 0;
    add_free_records(pool, 0);
    add_free_versions(pool, 0);
    hash_all_records(pool);
}

uint32_t mem_pool_add_record(MemPersistPool *pool, uint64_t line) {
    if (pool->free_record == MEM_NO_INDEX) {
        grow_records(pool);
    }
    uint32_t index = pool->free_record;
    MemLineRecord *r = &pool->records[index];
    uint32_t *bucket = bucket_of(pool, line);

    pool->free_record = r->hash_next;
    pool->record_count++;
    r->line = line;
    r->hash_next = *bucket;
    r->oldest = MEM_NO_INDEX;
    r->newest = MEM_NO_INDEX;
    r->cpu_dirty = false;
    *bucket = index;
    return index;
}

void mem_pool_free_record(MemPersistPool *pool, uint32_t record) {
    MemLineRecord *r = &pool->records[record];
    uint32_t *link = bucket_of(pool, r->line);

    while (*link != record) {
        link = &pool->records[*link].hash_next;
    }
    *link = r->hash_next;
    r->line = MEM_NO_LINE;
    r->hash_next = pool->free_record;
    pool->free_record = record;
    pool->record_count--;
}

uint32_t mem_pool_add_version(MemPersistPool *pool, uint32_t record) {
    if (pool->free_version == MEM_NO_INDEX) {
        grow_versions(pool);
    }
    uint32_t index = pool->free_version;
    MemVersion *v = &pool->versions[index];
    MemLineRecord *r = &pool->records[record];

    pool->free_version = v->newer;
    pool->version_count++;
    v->record = record;
    v->newer = MEM_NO_INDEX;
    *(r->newest == MEM_NO_INDEX ? &r->oldest : &pool->versions[r->newest].newer) = index;
    r->newest = index;
    return index;
}

void mem_pool_free_version(MemPersistPool *pool, MemLineRecord *r, uint32_t before) {
    uint32_t *link = before == MEM_NO_INDEX ? &r->oldest : &pool->versions[before].newer;
    uint32_t index = *link;
    MemVersion *v = &pool->versions[index];

    *link = v->newer;
    if (r->newest == index) {
        r->newest = before;
    }
    v->event = MEM_NO_EVENT;
    v->newer = pool->free_version;
    pool->free_version = index;
    pool->version_count--;
}

/* ---- Invariants ---- */

/* The number of versions of a record, or UINT32_MAX if its list is inconsistent. */
static uint32_t sound_versions(const MemPersistPool *pool, uint32_t record) {
    const MemLineRecord *r = &pool->records[record];
    uint32_t count = 0;
    uint32_t last = MEM_NO_INDEX;

    for (uint32_t i = r->oldest; i != MEM_NO_INDEX; i = pool->versions[i].newer) {
        const MemVersion *v = &pool->versions[i];
        if (v->record != record || v->program_ps > v->programmed_ps || v->accepted_ps > v->program_ps) {
            return UINT32_MAX;
        }
        last = i;
        count++;
    }
    return last == r->newest ? count : UINT32_MAX;
}

const char *mem_pool_check(const MemPersistPool *pool) {
    uint64_t records = 0;
    uint64_t versions = 0;

    for (uint32_t i = 0; i < pool->record_room; i++) {
        const MemLineRecord *r = &pool->records[i];
        if (r->line == MEM_NO_LINE) {
            continue;
        }
        uint32_t count = sound_versions(pool, i);
        if (count == UINT32_MAX) {
            return "a version is accepted before it is programmed, and its line lists it";
        }
        if (mem_pool_find(pool, r->line) != i || (count == 0 && !r->cpu_dirty)) {
            return "a line has at most one record, and only while its newest bytes are not durable";
        }
        records++;
        versions += count;
    }
    if (records != pool->record_count || versions != pool->version_count) {
        return "records and versions are counted right";
    }
    return NULL;
}
