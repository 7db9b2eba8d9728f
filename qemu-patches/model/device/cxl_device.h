/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One CXL-SSD: link, controller, DRAM cache, write log, flash and what of it is
 * durable. Without flash channels it is a plain memory expander: every access is
 * a hit and there is no cache. The device takes requests in the order the host
 * issues them.
 *
 * cxl_device.c is what a request passes, device_pages.c what happens between the
 * cache and flash, device_log.c the write log, device_config.c the rules of a
 * configuration and its change at run time.
 */
#ifndef MODEL_CXL_DEVICE_H
#define MODEL_CXL_DEVICE_H

#include "../base/callbacks.h"
#include "../base/counters.h"
#include "../base/slots.h"
#include "../config/device.h"
#include "../flash/flash.h"
#include "../persist/persist.h"
#include "device_cache.h"
#include "hotness.h"
#include "link.h"
#include "page_prefetch.h"
#include "valid_masks.h"
#include "write_log.h"

typedef struct MemDeviceTiming {
    mem_ps controller_ps; /* the latency of a request */
    mem_ps interval_ps;   /* from the start of one to the next */
    mem_ps tag_ps;
    mem_ps cache_ps;
    mem_ps refresh_ps;
    mem_ps line_ps; /* of a line in the device DRAM */
} MemDeviceTiming;

/* When the write log does what. */
typedef struct MemLogTimes {
    MemSlots lanes;      /* pages compacted at once */
    mem_ps from_ps;      /* when the half being compacted was full */
    mem_ps done_ps;      /* when its pages compacted so far are programmed */
    mem_ps open_from_ps; /* when the other half could be written */
} MemLogTimes;

/* A page that left its frame before the last write to it had been accepted. */
typedef struct MemEarlyEviction {
    uint64_t tag; /* page + 1 */
    mem_ps settled_ps;
} MemEarlyEviction;

#define MEM_EARLY_EVICTIONS 256u

typedef struct MemDevice {
    MemDeviceTiming active; /* all zero outside the region of interest */
    bool timed;
    bool has_flash;
    unsigned page_line_shift; /* lines per page */
    uint64_t line_count;
    MemDeviceCache cache;
    MemLink link;
    MemSlots write_queue; /* each taken until the device has its line */
    MemCalendar controller;
    MemCalendar dram;
    MemSlots mshrs;
    MemValidMasks masks;
    MemPagePrefetcher prefetcher;
    MemWriteLog log;
    MemLogTimes log_times;
    MemFlash flash;
    MemPersist persist;
    uint64_t arriving_line;   /* all of it is being written: it needs nothing of its page; or MEM_NO_LINE */
    mem_ps sent_until_ps;     /* when the last line so far was sent: they keep their order */
    mem_ps accepted_until_ps; /* when all writes so far have been accepted, be it by the write queue */
    mem_ps in_dram_until_ps;  /* and when the device has all of them */
    mem_ps in_dram_from_ps;   /* it has none before: those sent before a change of times come first */
    MemEarlyEviction early_evictions[MEM_EARLY_EVICTIONS]; /* by page */
    mem_ps placed_until_ps; /* a write that fetches nothing gets no frame before: the latest of all those, and more */
    MemHotness hotness;
    MemPowerCut cut; /* what the last one did to this device */
    MemCounters counters;
    MemCounters ignored; /* where the counts outside the region of interest go */
    MemDeviceConfig config;
    char fault[96]; /* of mem_device_reconfigure() */
} MemDevice;

typedef struct MemReadTimes {
    mem_ps done_ps; /* the line is at the host */
    bool hit;       /* the device had it in DRAM */
    MemDelays why;  /* what the time from the request to done_ps was for */
} MemReadTimes;

typedef struct MemWriteTimes {
    mem_ps taken_ps;     /* the core need not hold it: its last byte has left, or the write queue has answered */
    mem_ps accepted_ps;  /* it is where it was sent */
    mem_ps completed_ps; /* the host knows */
} MemWriteTimes;

/* NULL, or the rule that a configuration breaks. */
const char *mem_device_check(const MemDeviceConfig *config);

/* `number`: of the device in its MemSys. The power supply is the caller's, and outlives the device. */
void mem_device_init(MemDevice *d, uint32_t number, const MemDeviceConfig *config, const MemMedia *media,
                     const MemCallbacks *cb, MemPowerSupply *supply);
void mem_device_destroy(MemDevice *d);
/* Leaving timed mode lets all that is under way finish at `now_ps`. */
void mem_device_set_timed(MemDevice *d, bool timed, mem_ps now_ps);

/*
 * Change what may change at run time (params.h); what is under way keeps its
 * times. Returns NULL, or a sentence saying why nothing was changed, which is
 * good until the next call.
 */
const char *mem_device_reconfigure(MemDevice *d, const MemDeviceConfig *config);

/* Read a line, requested at `at_ps`. Requests come in the order of their times. */
MemReadTimes mem_device_read(MemDevice *d, uint64_t line, mem_ps at_ps);
/*
 * Write these bytes of a line that the CPU held dirty. It leaves the CPU at `at_ps` and is at the link `way_ps` later;
 * none overtakes another on the way.
 */
MemWriteTimes mem_device_write(MemDevice *d, uint64_t line, uint64_t byte_mask, mem_ps at_ps, mem_ps way_ps);

/* pm_wbarrier at `at_ps`: returns when all that was written so far is durable. */
mem_ps mem_device_barrier(MemDevice *d, mem_ps at_ps);

MemPowerCut mem_device_power_cut(MemDevice *d, mem_ps now_ps);
void mem_device_power_off(MemDevice *d, mem_ps now_ps);

/* NULL, or the law that is broken. */
const char *mem_device_check_state(const MemDevice *d);

#endif
