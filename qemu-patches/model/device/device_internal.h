/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the device share; see cxl_device.h. */
#ifndef MODEL_DEVICE_INTERNAL_H
#define MODEL_DEVICE_INTERNAL_H

#include "cxl_device.h"

/* ---- device_pages.c ---- */

/* Where a look-up found a line's page or put it, and from when it may be used. */
typedef struct MemLookUp {
    uint32_t frame; /* MEM_NO_FRAME: a read that the write log serves */
    mem_ps ready_ps;
    bool hit;
    bool teaches; /* a miss or the first use of a prefetched page: call mem_device_prefetch() last */
} MemLookUp;

MemLookUp mem_device_look_up_read(MemDevice *d, MemCounters *count, uint64_t line, mem_ps at_ps, MemDelays *why);
MemLookUp mem_device_look_up_write(MemDevice *d, MemCounters *count, uint64_t line, uint64_t bytes, mem_ps at_ps,
                                   MemDelays *why);
/* Fetch the pages that are likely to follow, as far as MSHRs are free. May take any frame. */
void mem_device_prefetch(MemDevice *d, MemCounters *count, uint64_t page, mem_ps at_ps);

/* A line of the page in this frame was written and accepted: it is to be programmed. */
void mem_device_write_through(MemDevice *d, MemCounters *count, uint32_t frame, uint64_t line, mem_ps accepted_ps);

/* The page of a hit was used. Returns whether it was the first use of a prefetched one. */
bool mem_device_page_used(MemDevice *d, MemCounters *count, uint32_t frame);
/* These bytes of the line in this frame are valid from now on. */
void mem_device_validate(MemDevice *d, uint32_t frame, uint64_t line, uint64_t bytes);

/* Tell persistence of a program of a page. */
void mem_device_programmed(MemDevice *d, uint64_t page, const MemFlashTimes *t);

/*
 * A page could not be read from flash. Lost with it are the lines that the log does not hold, nor this frame, which may
 * be MEM_NO_FRAME, and that no write brings just now.
 */
void mem_device_lose(MemDevice *d, MemCounters *count, uint64_t page, uint32_t frame);

/* Read what a frame, or the log with MEM_NO_FRAME, lacks of a page. */
MemFlashTimes mem_device_complete(MemDevice *d, MemCounters *count, uint64_t page, uint32_t frame, mem_ps at_ps);

/* ---- device_log.c ---- */

/* Append a line to the log: when there is room for it. The caller moves the line and calls mem_device_logged(). */
MemLookUp mem_device_log_write(MemDevice *d, MemCounters *count, uint64_t line, mem_ps at_ps);
void mem_device_logged(MemDevice *d, uint32_t frame, uint64_t line, uint64_t bytes, mem_ps accepted_ps);

/* Let compaction do what is due by `now_ps`. */
void mem_device_run_log(MemDevice *d, MemCounters *count, mem_ps now_ps);

static inline bool mem_device_logs(const MemDevice *d) { return d->config.cache_write_miss == MEM_WRITE_LOG; }

/* Whether the log has something to compact: a full half, or any if it is not written any more. */
static inline bool mem_device_log_is_busy(const MemDevice *d) {
    return d->log.room && (mem_log_is_compacting(&d->log) ||
                           (!mem_device_logs(d) && d->log.halves[d->log.filling].line_keys.count != 0));
}

/* ---- cxl_device.c ---- */

MemDeviceTiming mem_device_timing(const MemDeviceConfig *config);

#endif
