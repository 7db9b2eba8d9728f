/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything behind the CPU's caches: local DRAM, the devices and the windows
 * through which the host sees them, and what each core has under way. All time
 * passes here; the front (front.c) decides what is asked, this when.
 *
 * coherence.c is what other cores have to do with a request, operations.c what each operation waits for, fill_buffers.c
 * the lines that somebody waits for, prefetch_queue.c those that nobody does yet, line_requests.c where a line is read
 * and written, hdm_decoder.c the windows, stall_bound.c what local accesses cost at most, state.c the rest.
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
    uint32_t window_count; /* in use, the first so many */
    MemWindow windows[MEMSYS_MAX_WINDOWS];
    alignas(64) MemDram dram; /* and what else changes all the time: see front.h */
    MemPowerSupply supply;
    MemCore *cores[MEMSYS_MAX_CORES]; /* whoever computes has them: mem_memory_add_core() */
    uint32_t core_count;
    MemInFlight writes;    /* written lines whose completion a core may have to wait for */
    MemInFlight under_way; /* lines on their way to a core, with several: another one may want them */
    mem_ps called_ps;      /* the latest call of any core, of several */
    mem_ps c2c_configured_ps, upgrade_configured_ps;
    mem_ps c2c_ps, upgrade_ps; /* 0 outside the region of interest */
    mem_ps llc_configured_ps;
    mem_ps llc_ps; /* a miss is known only after the look-up */
    bool timed;
    bool loses_lines; /* a device's flash has read errors */
    MemHistogram histograms[MEM_CAUSE_COUNT];
} MemMemory;

void mem_memory_init(MemMemory *m, const MemCpuConfig *cpu);
/* Before anything else; returns its number. It is initialised here, and destroyed with the memory. */
uint32_t mem_memory_add_core(MemMemory *m, MemCore *core, const MemCpuConfig *cpu);
void mem_memory_destroy(MemMemory *m);
void mem_memory_set_timed(MemMemory *m, bool timed, mem_ps now_ps);
void mem_memory_reset_counters(MemMemory *m);
/* Those of all cores and of all devices. */
MemCounters mem_memory_counters(const MemMemory *m);
/* Host power is gone: nothing is under way. */
void mem_memory_reset_host(MemMemory *m);

/* Add a device; returns its number. `media` may be NULL: nothing is known of its bytes then. */
uint32_t mem_memory_add_device(MemMemory *m, const MemDeviceConfig *config, const MemMedia *media,
                               const MemCallbacks *cb);
void mem_memory_map_window(MemMemory *m, uint32_t index, const MemWindow *window);
/* The window of an address, or NULL: it is of local DRAM. */
static inline const MemWindow *mem_memory_window(const MemMemory *m, uint64_t hpa) {
    for (uint32_t i = 0; i < m->window_count; i++) {
        if (hpa - m->windows[i].hpa < m->windows[i].size_bytes) {
            return &m->windows[i];
        }
    }
    return NULL;
}

/*
 * One operation of a core. Returns for how long it waits from `at_ps` on; for one
 * `with_previous`, `at_ps` is ignored and the answer 0.
 */
mem_ps mem_memory_op(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps);

/* Another core makes this one send what it gathered at `at_ps`: it does not wait. */
void mem_memory_send_for_other(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps);

/* Whether a line is, at `at_ps`, on its way to another core than this, or waits to be sent for one. */
bool mem_memory_is_under_way(const MemMemory *m, const MemCore *c, uint64_t line, mem_ps at_ps);

/*
 * For how long the core can be made to wait at most, from `now_ps` on, by so
 * many loads or stores of local DRAM, each with its evictions and `prefetches`:
 * until all under way is done, and then one after the other.
 */
mem_ps mem_memory_local_bound(const MemMemory *m, mem_ps now_ps, uint32_t accesses, uint32_t prefetches);

/* The device of a line, or NULL: local DRAM. */
MemDevice *mem_memory_route(const MemMemory *m, uint64_t line, uint64_t *device_line);

#endif
