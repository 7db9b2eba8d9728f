/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flash: channels of dies of planes. A plane does one read, program or erase at a
 * time; a channel moves one page at a time. With a translation layer (ftl.h) a
 * program goes to the next plane in turn, and cleaning blocks takes the plane's
 * time; without one, pages are programmed in place.
 */
#ifndef MODEL_FLASH_H
#define MODEL_FLASH_H

#include "../base/counters.h"
#include "ftl.h"
#include "timeline.h"

typedef struct MemFlashTiming {
    mem_ps read_ps;
    mem_ps program_ps;
    mem_ps erase_ps;
    mem_ps transfer_ps; /* of a page over its channel; 0: no time */
    mem_ps suspend_ps;
    bool suspend;
} MemFlashTiming;

/*
 * The times of one operation. They add up exactly: the time from the request to
 * `end_ps` is the three waits plus the operation itself (array and transfer).
 */
typedef struct MemFlashTimes {
    mem_ps start_ps;        /* the array starts to read, or to program */
    mem_ps end_ps;          /* the data has left the flash, or the program has ended */
    mem_ps queue_wait_ps;   /* wait for reads */
    mem_ps program_wait_ps; /* wait for programs of the host's data */
    mem_ps gc_wait_ps;      /* wait for reads, programs and erases of garbage collection */
    bool lost;              /* of a read: the programmed content is lost */
} MemFlashTimes;

typedef struct MemFlash {
    MemFlashTiming configured;
    MemFlashTiming active;
    uint64_t channel_count;
    uint64_t plane_count;
    MemTimeline *channels;
    MemTimeline *planes; /* plane p is on channel p mod channels */
    MemFtlMap *ftl;      /* NULL: pages are programmed in place */
    MemMoveListener listener;
} MemFlash;

/*
 * NULL, or a static sentence that starts with the field. Each parameter, the page size and the capacity must have
 * passed their checks.
 */
const char *mem_flash_check(const MemDeviceConfig *config);

void mem_flash_init(MemFlash *f, const MemDeviceConfig *config);
void mem_flash_destroy(MemFlash *f);
/* A change of mode ends all operations under way. Untimed operations take no time. */
void mem_flash_set_timed(MemFlash *f, bool timed);
/* Take the times and the suspend rule, from now on, from a configuration that differs in nothing else. */
void mem_flash_reconfigure(MemFlash *f, const MemDeviceConfig *config, bool timed);

/*
 * Count and time the read of a page of the cache, or its program with the cleaning
 * that the program causes. Programs of one page end in the order of their requests.
 */
MemFlashTimes mem_flash_read(MemFlash *f, MemCounters *count, uint64_t page, mem_ps at_ps);
MemFlashTimes mem_flash_program(MemFlash *f, MemCounters *count, uint64_t page, mem_ps at_ps);

/*
 * With flash_suspend, a read can delay a reported program's start and end. A
 * listener learns the true times within the mem_flash_read() that moves the
 * program, before the old or the new end is past.
 */
void mem_flash_listen(MemFlash *f, const MemMoveListener *listener);

/* The owner of the contents listens for pages that cleaning cannot read; it is told within mem_flash_program(). */
void mem_flash_listen_to_losses(MemFlash *f, const MemPageLost *listener);

/*
 * flash_state.c: saves and loads the mapping and the wear, for a device that
 * continues where it stopped. The string has a version and a checksum. Loading
 * accepts any bytes; it returns NULL, or a static sentence and then changes
 * nothing.
 */
typedef void MemFlashSink(void *opaque, const void *bytes, size_t count);
void mem_flash_save(const MemFlash *f, MemFlashSink *sink, void *opaque);
const char *mem_flash_load(MemFlash *f, const void *bytes, size_t count);

/* NULL, or the broken law. */
const char *mem_flash_check_state(const MemFlash *f);

#endif
