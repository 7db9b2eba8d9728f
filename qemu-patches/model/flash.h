/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flash: what a page read or program waits for, and when it is done.
 */
#ifndef MODEL_FLASH_H
#define MODEL_FLASH_H

#include "serial.h"

typedef struct MemFlashTiming {
    mem_ps read_ps;
    mem_ps program_ps;
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
} MemFlashTimes;

typedef struct MemFlash {
    MemFlashTiming configured;
    MemFlashTiming active;
    MemSerial *channels;
    uint32_t channel_count;
} MemFlash;

void mem_flash_init(MemFlash *f, const MemDeviceConfig *config);
void mem_flash_destroy(MemFlash *f);
void mem_flash_set_timed(MemFlash *f, bool timed);

/* Count and time the read, or the program with what it sets off, of a page of the cache. */
MemFlashTimes mem_flash_read(MemFlash *f, MemCounters *count, uint64_t page, mem_ps at_ps);
MemFlashTimes mem_flash_program(MemFlash *f, MemCounters *count, uint64_t page, mem_ps at_ps);

#endif
