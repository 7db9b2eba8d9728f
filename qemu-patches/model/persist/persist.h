/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which bytes of each device line would survive a power cut.
 *
 * `media` is the live content: every store changes it at once. A line whose
 * newest bytes are not durable has a record: the bytes that are, whether a CPU
 * cache or write-combining buffer holds newer ones, and one version for every
 * write-back that is not durable yet. A version becomes durable when the device
 * accepts it, or, if the device cache is not protected, at the end of the flash
 * program that carries it. Durable bytes are only ever replaced by newer
 * ones, in whatever order programs end.
 *
 * Lines are numbered from DPA 0. Those of the volatile part, and all if there
 * are no media, are ignored by every call.
 */
#ifndef MODEL_PERSIST_H
#define MODEL_PERSIST_H

#include "../base/callbacks.h"
#include "../config/device.h"
#include "event_queue.h"
#include "media.h"
#include "persist_pool.h"
#include "power.h"

/* Told of each page that is programmed as power fails, by ascending number. */
typedef struct MemPageSaved {
    void (*saved)(void *opaque, uint64_t page);
    void *opaque;
} MemPageSaved;

/* What a device does when power fails. */
typedef struct MemPowerRules {
    MemDomain domain;
    uint64_t gpf_energy_nj;
    uint64_t gpf_line_nj;
    uint64_t gpf_page_nj;
    MemCutLines cut_lines;
    uint64_t cut_seed;
} MemPowerRules;

/* The power that all devices of a host share, and how many of its events there were. */
typedef struct MemPowerSupply {
    uint64_t event_count;
    uint64_t cut_after; /* power is gone after so many; UINT64_MAX: never */
} MemPowerSupply;

typedef struct MemPersist {
    MemMedia media;
    uint32_t device;
    uint64_t first_line;      /* of the persistent part; MEM_NO_LINE: nothing is tracked */
    bool cache_protected;     /* durable on acceptance */
    bool drains;              /* without flash: else durable once a barrier's time has passed */
    unsigned page_line_shift; /* lines per page */
    mem_ps wbarrier_ps;
    MemPowerRules rules;
    MemCallbacks callbacks;
    MemPersistPool pool;
    uint64_t cpu_dirty_count;
    mem_ps last_accepted_ps; /* of all versions so far */
    MemEventQueue events;
    MemPowerSupply *supply;
    MemPageSaved saved;
} MemPersist;

/* `device` is its number in the MemSys. `media` may be NULL. The power supply outlives this. */
void mem_persist_init(MemPersist *p, uint32_t device, const MemDeviceConfig *config, const MemMedia *media,
                      const MemCallbacks *cb, MemPowerSupply *supply);
void mem_persist_destroy(MemPersist *p);
/* Take over what may change while the device runs: barrier latency and what happens at a power cut. */
void mem_persist_reconfigure(MemPersist *p, const MemDeviceConfig *config);
/* The same content is in another place now. There were media before. */
void mem_persist_set_media(MemPersist *p, const MemMedia *media);

/* A CPU is about to change a line it holds clean: its bytes now are the ones to fall back to. */
void mem_persist_dirtied(MemPersist *p, uint64_t line, mem_ps at_ps);

/*
 * The line leaves the CPU and is accepted at `accepted_ps`. The bytes that it
 * takes along are those of `media` when the line is dirtied next, so the store
 * that filled a WC buffer may change them after this call.
 */
void mem_persist_written_back(MemPersist *p, uint64_t line, mem_ps at_ps, mem_ps accepted_ps);

/*
 * A flash program of the page of lines [first, first + count) starts and ends
 * then. Of each line it carries the newest version that was written back before
 * this call and is accepted by `start_ps`. Programs of a page may overlap and
 * end in any order, and need not follow a fetch.
 */
void mem_persist_programmed(MemPersist *p, uint64_t first, uint64_t count, mem_ps start_ps, mem_ps end_ps);

/*
 * The program of these lines that was to end at `old_end_ps`, which is still to
 * come, was overtaken or suspended: it now has these times, no earlier ones. A
 * line that several programs carry follows the one that was to end first, even
 * if that is moved behind another one.
 */
void mem_persist_program_moved(MemPersist *p, uint64_t first, uint64_t count, mem_ps old_end_ps, mem_ps start_ps,
                               mem_ps end_ps);

/* When the write-back under way for a line is accepted; 0 if none is at `now_ps`. */
mem_ps mem_persist_in_flight_until(const MemPersist *p, uint64_t line, mem_ps now_ps);

MemLineState mem_persist_state(const MemPersist *p, uint64_t line, mem_ps now_ps);

/* Let everything happen that is due by `now_ps`. */
void mem_persist_run(MemPersist *p, mem_ps now_ps);
/* Let everything that is under way happen now at the latest. */
void mem_persist_settle(MemPersist *p, mem_ps now_ps);

/*
 * pm_wbarrier at `now_ps`: when all that was written back so far is durable,
 * which is the configured latency after the last of it is accepted.
 */
mem_ps mem_persist_barrier(MemPersist *p, mem_ps now_ps);

/*
 * Whether the power supply's last event has happened: nothing happens any more
 * but mem_persist_power_cut(), which the caller must call next.
 */
static inline bool mem_persist_power_is_gone(const MemPersist *p) {
    return p->supply->event_count >= p->supply->cut_after;
}

/* persist_power.c: power fails, as the rules say; `media` then hold what survives. */
MemPowerCut mem_persist_power_cut(MemPersist *p, mem_ps now_ps);
void mem_persist_listen(MemPersist *p, const MemPageSaved *saved);
/* Everything is durable as it is. */
void mem_persist_power_off(MemPersist *p, mem_ps now_ps);

bool mem_persist_is_cpu_dirty(const MemPersist *p, uint64_t line);

/* NULL, or the law that is broken. */
const char *mem_persist_check(const MemPersist *p);

/* For persist_power.c. */
uint8_t *mem_persist_live(const MemPersist *p, uint64_t line);
MemLineState mem_persist_newest_state(const MemPersist *p, const MemLineRecord *r);
void mem_persist_report(const MemPersist *p, uint64_t line, MemLineState from, MemLineState to, mem_ps at_ps);

#endif
