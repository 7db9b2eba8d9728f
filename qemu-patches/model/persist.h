/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which bytes of each device line would survive a power cut.
 *
 * `media` is the live content: every store changes it at once. A line whose
 * newest bytes are not durable has a record: the bytes that are, whether a CPU
 * cache or write-combining buffer holds newer ones, and one version for every
 * write-back that is not durable yet. A version becomes durable when the device
 * accepts it, or, if the device cache is not protected, when the flash program
 * of its page ends. Lines are numbered from the start of the device.
 */
#ifndef MODEL_PERSIST_H
#define MODEL_PERSIST_H

#include "event_queue.h"
#include "memsys.h"

#define MEM_NO_INDEX UINT32_MAX

typedef struct MemVersion {
    uint32_t record;
    uint32_t newer; /* next version of the line; next free one when unused */
    MemLineState state;
    mem_ps accepted_ps;
    mem_ps program_ps; /* start of the flash program, MEM_NEVER until the page is evicted */
    mem_ps programmed_ps;
    uint8_t bytes[MEMSYS_LINE_BYTES];
} MemVersion;

typedef struct MemLineRecord {
    uint64_t line;      /* UINT64_MAX: unused */
    uint32_t hash_next; /* next free one when unused */
    uint32_t oldest;    /* versions, by age */
    uint32_t newest;
    bool cpu_dirty;
    uint8_t durable[MEMSYS_LINE_BYTES];
} MemLineRecord;

typedef struct MemPersist {
    uint8_t *media;
    bool cache_protected;
    MemCallbacks callbacks;
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
    uint32_t uncaptured; /* version whose bytes are still to be saved, or MEM_NO_INDEX */
    uint64_t cpu_dirty_count;
    MemEventQueue events;
} MemPersist;

void mem_persist_init(MemPersist *p, const MemDeviceConfig *config, uint8_t *media, const MemCallbacks *cb);
void mem_persist_destroy(MemPersist *p);

/* A CPU is about to change a line it holds clean: its bytes now are the ones to fall back to. */
void mem_persist_dirtied(MemPersist *p, uint64_t line, mem_ps at_ps);

/*
 * The line leaves the CPU and is accepted at `accepted_ps`. With `capture_later`
 * its last bytes are still to be stored; mem_persist_capture() then saves them.
 */
void mem_persist_written_back(MemPersist *p, uint64_t line, mem_ps at_ps, mem_ps accepted_ps, bool capture_later);
void mem_persist_capture(MemPersist *p);

/* The page of lines [first, first + count) leaves an unprotected cache by a flash program in this span. */
void mem_persist_programmed(MemPersist *p, uint64_t first, uint64_t count, mem_ps start_ps, mem_ps end_ps);

/* When the write-back under way for a line is accepted; 0 if none is at `now_ps`. */
mem_ps mem_persist_in_flight_until(const MemPersist *p, uint64_t line, mem_ps now_ps);

MemLineState mem_persist_state(const MemPersist *p, uint64_t line, mem_ps now_ps);

/* Let everything happen that is due by `now_ps`. */
void mem_persist_run(MemPersist *p, mem_ps now_ps);
/* Let everything that is under way happen now at the latest. */
void mem_persist_settle(MemPersist *p, mem_ps now_ps);
/* Go back to what is durable; returns how many lines lost bytes. */
uint64_t mem_persist_power_cut(MemPersist *p, mem_ps now_ps);
/* Everything is durable as it is. */
void mem_persist_power_off(MemPersist *p, mem_ps now_ps);

bool mem_persist_is_cpu_dirty(const MemPersist *p, uint64_t line);

/* NULL, or the law that is broken. */
const char *mem_persist_check(const MemPersist *p);

#endif
