/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One CXL-SSD: link, controller, DRAM cache, write log, flash, and the durability
 * of its lines. Without flash channels it is a plain memory expander: every access
 * is a hit and there is no cache. The device takes requests in the order in which
 * the host issues them.
 *
 * cxl_device.c is the path of a request, device_pages.c moves pages between the
 * cache and flash, device_log.c runs the write log, device_config.c checks a
 * configuration and changes it at run time.
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
    mem_ps controller_ps; /* latency of a request */
    mem_ps interval_ps;   /* from the start of one request to the next */
    mem_ps tag_ps;
    mem_ps cache_ps;
    mem_ps refresh_ps;
    mem_ps line_ps; /* transfer of a line in the device DRAM */
} MemDeviceTiming;

/* The times of the write log. */
typedef struct MemLogTimes {
    MemSlots lanes;      /* one for each page compacted at once */
    mem_ps from_ps;      /* when the half being compacted became full */
    mem_ps done_ps;      /* when the programs of its pages compacted so far end */
    mem_ps open_from_ps; /* when the other half became ready for writes */
} MemLogTimes;

/* A page that left its frame before its last write had been accepted. */
typedef struct MemEarlyEviction {
    uint64_t tag; /* page + 1 */
    mem_ps settled_ps;
} MemEarlyEviction;

#define MEM_EARLY_EVICTIONS 256u

typedef struct MemDevice {
    MemDeviceTiming active; /* all zero outside the region of interest */
    bool timed;
    bool has_flash;
    unsigned page_line_shift; /* log2 of the lines of a page */
    uint64_t line_count;
    MemDeviceCache cache;
    MemLink link;
    MemSlots write_queue; /* each place is taken until the device has its line */
    MemCalendar controller;
    MemCalendar dram;
    MemSlots mshrs;
    MemValidMasks masks;
    MemPagePrefetcher prefetcher;
    MemWriteLog log;
    MemLogTimes log_times;
    MemFlash flash;
    MemPersist persist;
    uint64_t arriving_line;   /* a line being written as a whole: it needs nothing of its page; or MEM_NO_LINE */
    mem_ps sent_until_ps;     /* when the latest line was sent: lines keep their order */
    mem_ps accepted_until_ps; /* when all writes so far have been accepted, by the device or the write queue */
    mem_ps in_dram_until_ps;  /* when the device has the lines of all of them */
    mem_ps in_dram_from_ps;   /* the device has no line before this: lines sent before a change of times come first */
    MemEarlyEviction early_evictions[MEM_EARLY_EVICTIONS]; /* by page number, modulo their count */
    mem_ps placed_until_ps; /* a write that fetches nothing gets no frame before this: the latest such time so far */
    MemHotness hotness;
    MemPowerCut cut; /* the last power cut's outcome for this device */
    MemCounters counters;
    MemCounters ignored; /* target of the counts outside the region of interest */
    MemDeviceConfig config;
    char fault[96]; /* the message of mem_device_reconfigure() */
} MemDevice;

typedef struct MemReadTimes {
    mem_ps done_ps; /* the line is at the host */
    bool hit;       /* the device had the line in DRAM */
    MemDelays why;  /* causes of the time from the request to done_ps */
} MemReadTimes;

typedef struct MemWriteTimes {
    mem_ps taken_ps;    /* the core no longer holds the line: its last byte has left, or the write queue has answered */
    mem_ps accepted_ps; /* the device, or the write queue, has accepted the line */
    mem_ps completed_ps; /* the host knows that the line was accepted */
} MemWriteTimes;

/* NULL, or the rule that the configuration breaks. */
const char *mem_device_check(const MemDeviceConfig *config);

/* `number`: the device's number in its MemSys. The caller owns the power supply, which outlives the device. */
void mem_device_init(MemDevice *d, uint32_t number, const MemDeviceConfig *config, const MemMedia *media,
                     const MemCallbacks *cb, MemPowerSupply *supply);
void mem_device_destroy(MemDevice *d);
/* When timed mode ends, all operations under way finish at `now_ps` at the latest. */
void mem_device_set_timed(MemDevice *d, bool timed, mem_ps now_ps);

/*
 * Change the parameters that may change at run time (params.h). Operations under
 * way keep their times. Returns NULL, or a sentence that says why nothing was
 * changed, valid until the next call.
 */
const char *mem_device_reconfigure(MemDevice *d, const MemDeviceConfig *config);

/* Read a line, requested at `at_ps`. Requests come in the order in which the host issues them. */
MemReadTimes mem_device_read(MemDevice *d, uint64_t line, mem_ps at_ps);
/*
 * Write these bytes of a line that the CPU held dirty. The line leaves the CPU at `at_ps` and reaches the link `way_ps`
 * later; no line overtakes another on the way.
 */
MemWriteTimes mem_device_write(MemDevice *d, uint64_t line, uint64_t byte_mask, mem_ps at_ps, mem_ps way_ps);

/* pm_wbarrier at `at_ps`: returns when all writes so far are durable. */
mem_ps mem_device_barrier(MemDevice *d, mem_ps at_ps);

MemPowerCut mem_device_power_cut(MemDevice *d, mem_ps now_ps);
void mem_device_power_off(MemDevice *d, mem_ps now_ps);

/* NULL, or the broken law. */
const char *mem_device_check_state(const MemDevice *d);

#endif
