/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of persist.c: records of lines, looked up by line number, and the
 * versions of each record. Records and versions are indices into arrays that only
 * grow. The order of indices depends on the calls alone and has no meaning.
 */
#ifndef MODEL_PERSIST_POOL_H
#define MODEL_PERSIST_POOL_H

#include "../base/callbacks.h"
#include "../base/mem_hash.h"

#define MEM_NO_INDEX UINT32_MAX
#define MEM_NO_EVENT UINT64_MAX

/* A write-back that is not durable yet. Its bytes are the live bytes until its line is dirtied again. */
typedef struct MemVersion {
    uint32_t record;
    uint32_t newer; /* next version of the line; when unused: next free version */
    MemLineState state;
    uint64_t event; /* the event that changes its state next; MEM_NO_EVENT: not known yet */
    mem_ps accepted_ps;
    mem_ps program_ps; /* start of the flash program that it follows; MEM_NEVER: no program yet */
    mem_ps programmed_ps;
    uint8_t bytes[MEMSYS_LINE_BYTES]; /* valid once the line is dirtied again */
} MemVersion;

typedef struct MemLineRecord {
    uint64_t line;      /* MEM_NO_LINE: unused */
    uint32_t hash_next; /* when unused: next free record */
    uint32_t oldest;    /* versions, by age */
    uint32_t newest;
    bool cpu_dirty;
    uint8_t durable[MEMSYS_LINE_BYTES];
} MemLineRecord;

typedef struct MemPersistPool {
    MemLineRecord *records;
    uint32_t record_room;
    uint32_t record_count;
    uint32_t free_record;
    MemVersion *versions;
    uint32_t version_room;
    uint32_t version_count;
    uint32_t free_version;
    uint32_t *buckets;
    unsigned bucket_shift;
} MemPersistPool;

void mem_pool_init(MemPersistPool *pool);
void mem_pool_destroy(MemPersistPool *pool);
/* Free all records and versions. */
void mem_pool_clear(MemPersistPool *pool);

/* The record of a line, or MEM_NO_INDEX. */
static inline uint32_t mem_pool_find(const MemPersistPool *pool, uint64_t line) {
    uint32_t index = pool->buckets[mem_hash(line, pool->bucket_shift)];
    while (index != MEM_NO_INDEX && pool->records[index].line != line) {
        index = pool->records[index].hash_next;
    }
    return index;
}

/* Add a clean record, without versions, of a line that has no record. Invalidates pointers into the arrays. */
uint32_t mem_pool_add_record(MemPersistPool *pool, uint64_t line);
void mem_pool_free_record(MemPersistPool *pool, uint32_t record);

/* Add a version, newer than all others of its record. */
uint32_t mem_pool_add_version(MemPersistPool *pool, uint32_t record);
/* Free the version after `before`, or the oldest version if `before` is MEM_NO_INDEX. */
void mem_pool_free_version(MemPersistPool *pool, MemLineRecord *r, uint32_t before);

/* NULL, or the invariant that is broken. */
const char *mem_pool_check(const MemPersistPool *pool);

#endif
