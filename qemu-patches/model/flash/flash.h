/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flash: channels of dies of planes. A plane reads, programs or erases one thing
 * at a time; a channel moves one page at a time. With a translation layer
 * (ftl.h) a program goes to the plane whose turn it is, and cleaning blocks
 * takes the plane's time; without one, pages are programmed in place.
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
    mem_ps transfer_ps; /* of a page over its channel; 0: free */
    mem_ps suspend_ps;
    bool suspend;
} MemFlashTiming;

/*
 * One operation. What it takes adds up exactly: from the request to `end_ps` is
 * the three waits and the operation itself (array and transfer).
 */
typedef struct MemFlashTimes {
    mem_ps start_ps;        /* the array starts to read, or to program */
    mem_ps end_ps;          /* the data has left the flash, or the program has ended */
    mem_ps queue_wait_ps;   /* for reads */
    mem_ps program_wait_ps; /* for programs of the host's data */
    mem_ps gc_wait_ps;      /* for what garbage collection reads, programs and erases */
    bool lost;              /* of a read: what was programmed there is gone */
} MemFlashTimes;

typedef struct MemFlash {
    MemFlashTiming configured;
    MemFlashTiming active;
    uint64_t channel_count;
    uint64_t plane_count;
    MemTimeline *channels;
    MemTimeline *planes; /* plane p is on channel p mod channels */
    MemFtlMap *ftl;      /* NULL: in place */
    MemMoveListener listener;
} MemFlash;

/* NULL, or a static sentence that starts with the field. Each parameter, page size and capacity have passed their
 * check. */
const char *mem_flash_check(const MemDeviceConfig *config);

void mem_flash_init(MemFlash *f, const MemDeviceConfig *config);
void mem_flash_destroy(MemFlash *f);
/* A change of mode ends all that is under way. Untimed, everything happens and takes no time. */
void mem_flash_set_timed(MemFlash *f, bool timed);
/* Take the times and the suspend rule from here on from a configuration that differs in nothing else. */
void mem_flash_reconfigure(MemFlash *f, const MemDeviceConfig *config, bool timed);

/*
 * Count and time the read, or the program with what it sets off, of a page of
 * the cache. Programs of one page end in the order they were asked for.
 */
MemFlashTimes mem_flash_read(MemFlash *f, MemCounters *count, uint64_t page, mem_ps at_ps);
MemFlashTimes mem_flash_program(MemFlash *f, MemCounters *count, uint64_t page, mem_ps at_ps);

/*
 * With flash_suspend, a read can make a program that was reported start and end
 * later. Whoever needs the true end listens; it is told within the
 * mem_flash_read() that moves the program, before either time is past.
 */
void mem_flash_listen(MemFlash *f, const MemMoveListener *listener);

/* Whoever keeps contents listens to what cleaning cannot read; it is told within mem_flash_program(). */
void mem_flash_listen_to_losses(MemFlash *f, const MemPageLost *listener);

/*
 * flash_state.c: the mapping and the wear, for a device that goes on where it
 * stopped. The string is versioned and checksummed. Loading returns NULL, or a
 * static sentence and changes nothing; it takes any bytes.
 */
typedef void MemFlashSink(void *opaque, const void *bytes, size_t count);
void mem_flash_save(const MemFlash *f, MemFlashSink *sink, void *opaque);
const char *mem_flash_load(MemFlash *f, const void *bytes, size_t count);

/* NULL, or the law that is broken. */
const char *mem_flash_check_state(const MemFlash *f);

#endif
