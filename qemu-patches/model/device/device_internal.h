/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the device; see cxl_device.h. */
#ifndef MODEL_DEVICE_INTERNAL_H
#define MODEL_DEVICE_INTERNAL_H

#include "cxl_device.h"

/* ---- device_pages.c ---- */

/* The frame in which a look-up found or put a line's page, and the time from which it may be used. */
typedef struct MemLookUp {
    uint32_t frame; /* MEM_NO_FRAME: the write log, or an expander, serves the request */
    mem_ps ready_ps;
    bool hit;
    bool teaches; /* a miss or the first use of a prefetched page: call mem_device_prefetch() last */
} MemLookUp;

MemLookUp mem_device_look_up_read(MemDevice *d, MemCounters *count, uint64_t line, mem_ps at_ps, MemDelays *why);
MemLookUp mem_device_look_up_write(MemDevice *d, MemCounters *count, uint64_t line, uint64_t bytes, mem_ps at_ps,
                                   MemDelays *why);
/* Fetch the pages that are likely to follow, while MSHRs are free. May replace any frame. */
void mem_device_prefetch(MemDevice *d, MemCounters *count, uint64_t page, mem_ps at_ps);

/* A line of the page in this frame was written and accepted: program the page. */
void mem_device_write_through(MemDevice *d, MemCounters *count, uint32_t frame, uint64_t line, mem_ps accepted_ps);

/* Record a use of the page in this frame. Returns whether it was the first use of a prefetched page. */
bool mem_device_page_used(MemDevice *d, MemCounters *count, uint32_t frame);
/* These bytes of the line in this frame are valid from now on. */
void mem_device_validate(MemDevice *d, uint32_t frame, uint64_t line, uint64_t bytes);

/* Tell the persistence part about a program of a page. */
void mem_device_programmed(MemDevice *d, uint64_t page, const MemFlashTimes *t);

/*
 * A page could not be read from flash. Its lines are lost, except lines that the log or this frame (MEM_NO_FRAME: no
 * frame) holds as a whole, and a line that a write brings right now.
 */
void mem_device_lose(MemDevice *d, MemCounters *count, uint64_t page, uint32_t frame);

/* Read a page from flash to complete this frame; MEM_NO_FRAME: for a new frame or the log. */
MemFlashTimes mem_device_complete(MemDevice *d, MemCounters *count, uint64_t page, uint32_t frame, mem_ps at_ps);

/* ---- device_log.c ---- */

/*
 * Append a line to the log; `ready_ps` is the time at which the log has room for it. The caller moves the line and then
 * calls mem_device_logged().
 */
MemLookUp mem_device_log_write(MemDevice *d, MemCounters *count, uint64_t line, mem_ps at_ps);
void mem_device_logged(MemDevice *d, uint32_t frame, uint64_t line, uint64_t bytes, mem_ps accepted_ps);

/* Do the compaction that is due by `now_ps`. */
void mem_device_run_log(MemDevice *d, MemCounters *count, mem_ps now_ps);

static inline bool mem_device_logs(const MemDevice *d) { return d->config.cache_write_miss == MEM_WRITE_LOG; }

/* Whether the log has lines to compact: a full half, or any lines after writes have ceased to go to the log. */
static inline bool mem_device_log_is_busy(const MemDevice *d) {
    return d->log.room && (mem_log_is_compacting(&d->log) ||
                           (!mem_device_logs(d) && d->log.halves[d->log.filling].line_keys.count != 0));
}

/* ---- cxl_device.c ---- */

MemDeviceTiming mem_device_timing(const MemDeviceConfig *config);

#endif
