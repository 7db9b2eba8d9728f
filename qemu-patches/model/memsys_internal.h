/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a MemSys is made of; for memsys.c and memsys_invariants.c only. */
#ifndef MODEL_MEMSYS_INTERNAL_H
#define MODEL_MEMSYS_INTERNAL_H

#include "cpu_caches.h"
#include "cxl_device.h"
#include "dram.h"
#include "memsys.h"
#include "wc_buffers.h"

typedef struct MemLatencies {
    mem_ps l2_ps;
    mem_ps llc_ps;
} MemLatencies;

struct MemSys {
    MemCpuCaches cpu;
    MemWc wc;
    MemDram dram;
    MemDevice *device; /* NULL: local DRAM only */
    MemLatencies configured;
    MemLatencies active;
    /* The window, in lines: [window_first, + window_count) is device_first and on. */
    uint64_t window_first;
    uint64_t window_count;
    uint64_t device_first;
    mem_ps now_ps;         /* of the latest call */
    mem_ps resumes_ps;     /* when the CPU goes on after its latest wait for a WC buffer */
    mem_ps fence_until_ps; /* when the last write-back or NT store that a fence waits for is complete */
    bool timed;
    MemCounters counters;
    MemCounters ignored; /* where the counts outside the region of interest go */
    MemCounters *count;  /* one of the two */
    MemCallbacks callbacks;
};

/* Whether a line is the device's, and if so which of its lines. */
static inline bool mem_to_device_line(const MemSys *m, uint64_t line, uint64_t *device_line) {
    uint64_t offset = line - m->window_first;
    *device_line = m->device_first + offset;
    return offset < m->window_count;
}

#endif
