/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flash: pages spread over channels by number, each channel busy with one page
 * at a time, in the order asked.
 */
#ifndef MODEL_FLASH_H
#define MODEL_FLASH_H

#include "serial.h"

typedef struct MemFlashTiming {
    mem_ps read_ps;
    mem_ps program_ps;
} MemFlashTiming;

typedef struct MemFlash {
    MemFlashTiming configured;
    MemFlashTiming active;
    MemSerial *channels;
    uint32_t channel_count;
} MemFlash;

void mem_flash_init(MemFlash *f, const MemDeviceConfig *config);
void mem_flash_destroy(MemFlash *f);
void mem_flash_set_timed(MemFlash *f, bool timed);

/* When the page has been read, or programmed; a program starts its active.program_ps before that. */
mem_ps mem_flash_read(MemFlash *f, uint64_t page, mem_ps at_ps);
mem_ps mem_flash_program(MemFlash *f, uint64_t page, mem_ps at_ps);

#endif
