/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything behind the CPU's caches: local DRAM, the devices and the windows
 * through which the host sees them, and the requests that each core has under
 * way. All time passes here: the front (front.c) decides which operations are
 * issued, this module when they complete.
 *
 * Each file calls only files further down in this list:
 *
 *   state.c           set-up, modes and counters
 *   operations.c      the waits of each operation
 *   fill_buffers.c    lines that an access waits for
 *   prefetch_queue.c  prefetched lines
 *   line_requests.c   reads and writes of a line in DRAM or a device
 *   under_way.c       lines on their way to a core, for which other cores may ask
 *   hdm_decoder.c     the windows
 *   dram.c            local DRAM
 *
 * stall_bound.c, the upper bound of the stalls of local accesses, calls none of them.
 */
#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

#include <stdalign.h>

#include "../base/callbacks.h"
#include "../base/counters.h"
#include "../base/histogram.h"
#include "../config/cpu.h"
#include "../cpu/core.h"
#include "../device/cxl_device.h"
#include "dram.h"
#include "mem_op.h"
#include "window.h"

typedef struct MemMemory {
    alignas(64) MemDevice *devices[MEMSYS_MAX_DEVICES];
    uint32_t device_count;
    uint32_t window_count; /* windows from this index on are not in use */
    MemWindow windows[MEMSYS_MAX_WINDOWS];
    alignas(64) MemDram dram; /* this field and those below change all the time: see front.h */
    MemPowerSupply supply;
    MemCore *cores[MEMSYS_MAX_CORES]; /* owned by the caller of mem_memory_add_core() */
    uint32_t core_count;
    MemInFlight writes;    /* writes under way: a core may have to wait for their completion */
    MemInFlight under_way; /* with several cores: lines on their way to a core, which another core may ask for */
    mem_ps called_ps;      /* with several cores: the latest call of any of them */
    mem_ps c2c_configured_ps, upgrade_configured_ps;
    mem_ps c2c_ps, upgrade_ps; /* 0 outside the region of interest */
    mem_ps llc_configured_ps;
    mem_ps llc_ps; /* every miss first pays for the look-up in the LLC */
    bool timed;
    bool loses_lines; /* a device's flash has read errors */
    MemHistogram histograms[MEM_CAUSE_COUNT];
} MemMemory;

void mem_memory_init(MemMemory *m, const MemCpuConfig *cpu);
/* Add a core, before any other call. Returns its number. Initialises `core`, which is destroyed with the memory. */
uint32_t mem_memory_add_core(MemMemory *m, MemCore *core, const MemCpuConfig *cpu);
void mem_memory_destroy(MemMemory *m);
void mem_memory_set_timed(MemMemory *m, bool timed, mem_ps now_ps);
void mem_memory_reset_counters(MemMemory *m);
/* The sum over all cores and devices. */
MemCounters mem_memory_counters(const MemMemory *m);
/* Host power is gone: forget all requests under way. */
void mem_memory_reset_host(MemMemory *m);

/* Add a device; returns its number. If `media` is NULL, the durability of the device's bytes is not tracked. */
uint32_t mem_memory_add_device(MemMemory *m, const MemDeviceConfig *config, const MemMedia *media,
                               const MemCallbacks *cb);
void mem_memory_map_window(MemMemory *m, uint32_t index, const MemWindow *window);
/* The window that contains an address, or NULL if the address is in local DRAM. */
static inline const MemWindow *mem_memory_window(const MemMemory *m, uint64_t hpa) {
    for (uint32_t i = 0; i < m->window_count; i++) {
        if (hpa - m->windows[i].hpa < m->windows[i].size_bytes) {
            return &m->windows[i];
        }
    }
    return NULL;
}

/*
 * Run one operation of a core. Returns how long the core waits from `at_ps` on.
 * For an operation `with_previous`, `at_ps` is ignored and the result is 0.
 */
mem_ps mem_memory_op(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps);

/* Another core makes core `c` send a write-combining buffer at `at_ps`. Core `c` does not wait. */
void mem_memory_send_for_other(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps);

/* Whether, at `at_ps`, a line is on its way to another core than `c`, or a prefetch for one waits to be sent. */
bool mem_memory_is_under_way(const MemMemory *m, const MemCore *c, uint64_t line, mem_ps at_ps);

/*
 * Upper bound of the core's wait from `now_ps` on for `accesses` loads or stores
 * of local DRAM, each with its evictions and at most `prefetches` prefetches: the
 * accesses start when all requests under way are done, and run one after another.
 */
mem_ps mem_memory_local_bound(const MemMemory *m, mem_ps now_ps, uint32_t accesses, uint32_t prefetches);

/* The device that holds a line, or NULL if the line is in local DRAM. */
MemDevice *mem_memory_route(const MemMemory *m, uint64_t line, uint64_t *device_line);

#endif
