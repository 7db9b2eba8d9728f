/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One CXL-SSD: link, controller, DRAM cache, flash and what of it is durable.
 * The device takes requests in the order the host issues them.
 */
#ifndef MODEL_CXL_DEVICE_H
#define MODEL_CXL_DEVICE_H

#define MEM_ALL_BYTES UINT64_MAX /* the byte mask of a whole line */

#include "device_cache.h"
#include "flash.h"
#include "link.h"
#include "persist.h"

typedef struct MemDeviceTiming {
    mem_ps controller_ps; /* the latency of a request */
    mem_ps interval_ps;   /* from the start of one to the next */
    mem_ps cache_ps;
    mem_ps line_ps; /* of a line in the device DRAM */
} MemDeviceTiming;

typedef struct MemDevice {
    MemDeviceTiming configured;
    MemDeviceTiming active; /* all zero outside the region of interest */
    bool timed;
    uint64_t line_count;
    unsigned page_line_shift; /* lines per page */
    bool cache_protected;
    MemLink link;
    MemCalendar controller;
    MemCalendar dram;
    MemDeviceCache cache;
    MemFlash flash;
    MemPersist persist;
    mem_ps accepted_until_ps; /* when all writes so far have been accepted */
} MemDevice;

typedef struct MemReadTimes {
    mem_ps done_ps; /* the line is at the host */
    bool hit;       /* the device cache had it */
    MemDelays why;  /* what the time from the request to done_ps was for */
} MemReadTimes;

typedef struct MemWriteTimes {
    mem_ps left_ps;      /* the last byte has left the host */
    mem_ps accepted_ps;  /* it is where it was sent */
    mem_ps completed_ps; /* the host knows */
} MemWriteTimes;

/* `number`: of the device in its MemSys. */
void mem_device_init(MemDevice *d, uint32_t number, const MemDeviceConfig *config, const MemMedia *media,
                     const MemCallbacks *cb);
void mem_device_destroy(MemDevice *d);
/* Leaving timed mode lets all that is under way finish at `now_ps`. */
void mem_device_set_timed(MemDevice *d, bool timed, mem_ps now_ps);

/* Read a line, requested at `at_ps`. Requests come in the order of their times. */
MemReadTimes mem_device_read(MemDevice *d, MemCounters *count, uint64_t line, mem_ps at_ps);
/* Write these bytes of a line that the CPU held dirty. */
MemWriteTimes mem_device_write(MemDevice *d, MemCounters *count, uint64_t line, uint64_t byte_mask, mem_ps at_ps);

/* pm_wbarrier at `at_ps`: returns when all that was written so far is durable. */
mem_ps mem_device_barrier(MemDevice *d, mem_ps at_ps);

MemPowerCut mem_device_power_cut(MemDevice *d, mem_ps now_ps);
void mem_device_power_off(MemDevice *d, mem_ps now_ps);

#endif
