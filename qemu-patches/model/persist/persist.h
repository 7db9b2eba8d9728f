/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracks which bytes of each device line would survive a power cut.
 *
 * `media` is the live content: every store changes it at once. A line has a
 * record while its newest bytes are not durable. The record holds the durable
 * bytes, a flag that a CPU cache or write-combining buffer holds newer bytes,
 * and one version for every write-back that is not durable yet. With a protected
 * device cache a version becomes durable when the device accepts it. Without
 * protection it becomes durable at the end of the flash program or barrier that
 * carries it, or, on a device without flash, the barrier latency after acceptance.
 * Durable bytes are replaced only by newer bytes, regardless of the order in which
 * programs end.
 *
 * Lines are numbered from DPA 0. Every call ignores the lines of the volatile
 * part, and all lines if there are no media.
 */
#ifndef MODEL_PERSIST_H
#define MODEL_PERSIST_H

#include "../base/callbacks.h"
#include "../config/device.h"
#include "event_queue.h"
#include "media.h"
#include "persist_pool.h"
#include "power.h"

/* Callback for each page that is programmed as power fails, by ascending page number. */
typedef struct MemPageSaved {
    void (*saved)(void *opaque, uint64_t page);
    void *opaque;
} MemPageSaved;

/* The behaviour of a device when power fails. */
typedef struct MemPowerRules {
    MemDomain domain;
    uint64_t gpf_energy_nj;
    uint64_t gpf_line_nj;
    uint64_t gpf_page_nj;
    MemCutLines cut_lines;
    uint64_t cut_seed;
} MemPowerRules;

/* The power supply that all devices of a host share, and the count of their persistence events. */
typedef struct MemPowerSupply {
    uint64_t event_count;
    uint64_t cut_after; /* power is gone after this event; UINT64_MAX: never */
} MemPowerSupply;

typedef struct MemPersist {
    MemMedia media;
    uint32_t device;
    uint64_t first_line;      /* of the persistent part; MEM_NO_LINE: nothing is tracked */
    bool cache_protected;     /* a version is durable on acceptance */
    bool drains;              /* no flash: if not protected, a version is durable wbarrier_ps after acceptance */
    unsigned page_line_shift; /* lines per page */
    mem_ps wbarrier_ps;
    MemPowerRules rules;
    MemCallbacks callbacks;
    MemPersistPool pool;
    uint64_t cpu_dirty_count;
    mem_ps last_accepted_ps; /* the latest acceptance of all versions so far */
    MemEventQueue events;
    MemPowerSupply *supply;
    MemPageSaved saved;
} MemPersist;

/* `device` is the device's number in the MemSys. `media` may be NULL. The power supply must outlive `p`. */
void mem_persist_init(MemPersist *p, uint32_t device, const MemDeviceConfig *config, const MemMedia *media,
                      const MemCallbacks *cb, MemPowerSupply *supply);
void mem_persist_destroy(MemPersist *p);
/* Take over the parameters that may change while the device runs: the barrier latency and the rules of a power cut. */
void mem_persist_reconfigure(MemPersist *p, const MemDeviceConfig *config);
/* The same content has moved to another place. `p` must have had media before. */
void mem_persist_set_media(MemPersist *p, const MemMedia *media);

/* A CPU is about to change a line that it holds clean. Saves the present bytes, which a power cut may restore. */
void mem_persist_dirtied(MemPersist *p, uint64_t line, mem_ps at_ps);

/*
 * The line leaves the CPU and is accepted at `accepted_ps`. It carries the bytes
 * that `media` holds when the line is dirtied next, so the store that filled a WC
 * buffer may change the bytes after this call.
 */
void mem_persist_written_back(MemPersist *p, uint64_t line, mem_ps at_ps, mem_ps accepted_ps);

/*
 * A flash program of the page with lines [first, first + count) runs from
 * `start_ps` to `end_ps`. For each line it carries the newest version that was
 * written back before this call and is accepted by `start_ps`. Programs of a page
 * may overlap, may end in any order, and need not follow a fetch.
 */
void mem_persist_programmed(MemPersist *p, uint64_t first, uint64_t count, mem_ps start_ps, mem_ps end_ps);

/*
 * The program of these lines that was to end at `old_end_ps`, a time still to
 * come, was overtaken or suspended: it now has these times, which are not earlier.
 * A line that several programs carry continues to follow the program that was to
 * end first, even if this call moves that program behind another one.
 */
void mem_persist_program_moved(MemPersist *p, uint64_t first, uint64_t count, mem_ps old_end_ps, mem_ps start_ps,
                               mem_ps end_ps);

/* When the write-back of a line that is under way at `now_ps` is accepted; 0 if no write-back is under way. */
mem_ps mem_persist_in_flight_until(const MemPersist *p, uint64_t line, mem_ps now_ps);

MemLineState mem_persist_state(const MemPersist *p, uint64_t line, mem_ps now_ps);

/* Run all events that are due by `now_ps`. */
void mem_persist_run(MemPersist *p, mem_ps now_ps);
/* Run all pending events; those due after `now_ps` happen at `now_ps`. */
void mem_persist_settle(MemPersist *p, mem_ps now_ps);

/*
 * pm_wbarrier at `now_ps`. Returns when all write-backs so far are durable: the
 * configured latency after the last of them is accepted.
 */
mem_ps mem_persist_barrier(MemPersist *p, mem_ps now_ps);

/*
 * Whether the power supply's last event has happened. From then on write-backs,
 * programs and events have no effect, and the caller must call
 * mem_persist_power_cut() next.
 */
static inline bool mem_persist_power_is_gone(const MemPersist *p) {
    return p->supply->event_count >= p->supply->cut_after;
}

/* persist_power.c: power fails, as the rules say. Afterwards `media` hold the surviving bytes. */
MemPowerCut mem_persist_power_cut(MemPersist *p, mem_ps now_ps);
void mem_persist_listen(MemPersist *p, const MemPageSaved *saved);
/* Orderly power-off: the live bytes of all lines become durable. */
void mem_persist_power_off(MemPersist *p, mem_ps now_ps);

bool mem_persist_is_cpu_dirty(const MemPersist *p, uint64_t line);

/* NULL, or the invariant that is broken. */
const char *mem_persist_check(const MemPersist *p);

/* For persist_power.c. */
uint8_t *mem_persist_live(const MemPersist *p, uint64_t line);
MemLineState mem_persist_newest_state(const MemPersist *p, const MemLineRecord *r);
void mem_persist_report(const MemPersist *p, uint64_t line, MemLineState from, MemLineState to, mem_ps at_ps);

#endif
