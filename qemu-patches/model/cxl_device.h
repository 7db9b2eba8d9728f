/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One CXL-SSD: link, controller, DRAM cache, flash and what of it is durable.
 * The device takes requests in the order the host issues them.
 */
#ifndef MODEL_CXL_DEVICE_H
#define MODEL_CXL_DEVICE_H

#include "device_cache.h"
#include "flash.h"
#include "link.h"
#include "persist.h"

typedef struct MemDeviceTiming {
    mem_ps controller_ps;
    mem_ps cache_ps;
} MemDeviceTiming;

typedef struct MemDevice {
    MemDeviceTiming configured;
    MemDeviceTiming active;
    uint64_t line_count;
    unsigned page_line_shift; /* lines per page */
    bool cache_protected;
    MemLink link;
    MemDeviceCache cache;
    MemFlash flash;
    MemPersist persist;
} MemDevice;

typedef struct MemWriteTimes {
    mem_ps left_ps;      /* the last byte has left the host */
    mem_ps accepted_ps;  /* it is where it was sent */
    mem_ps completed_ps; /* the host knows */
} MemWriteTimes;

void mem_device_init(MemDevice *d, const MemDeviceConfig *config, uint8_t *media, const MemCallbacks *cb);
void mem_device_destroy(MemDevice *d);
/* Leaving timed mode lets all that is under way finish at `now_ps`. */
void mem_device_set_timed(MemDevice *d, bool timed, mem_ps now_ps);

/* Read a line, requested at `at_ps`: when it is at the host, and whether the device cache held it. */
mem_ps mem_device_read(MemDevice *d, MemCounters *count, uint64_t line, mem_ps at_ps, bool *hit);
/* Write a line that the CPU held dirty. `capture_later`: see mem_persist_written_back(). */
MemWriteTimes mem_device_write(MemDevice *d, MemCounters *count, uint64_t line, mem_ps at_ps, bool capture_later);

uint64_t mem_device_power_cut(MemDevice *d, mem_ps now_ps);
void mem_device_power_off(MemDevice *d, mem_ps now_ps);

#endif
