/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flash.h"

#include <stdlib.h>
#include <string.h>

#include "mem_alloc.h"

void mem_flash_init(MemFlash *f, const MemDeviceConfig *config) {
    f->configured = (MemFlashTiming){.read_ps = config->flash_read_ps, .program_ps = config->flash_program_ps};
    f->channel_count = config->flash_channels;
    f->channels = mem_calloc(f->channel_count, sizeof(*f->channels));
    mem_flash_set_timed(f, false);
}

void mem_flash_destroy(MemFlash *f) { free(f->channels); }

void mem_flash_set_timed(MemFlash *f, bool timed) {
    f->active = timed ? f->configured : (MemFlashTiming){0};
    memset(f->channels, 0, f->channel_count * sizeof(*f->channels));
}

static MemFlashTimes occupy(MemFlash *f, uint64_t page, mem_ps at_ps, mem_ps span_ps) {
    mem_ps end_ps = mem_serial_occupy(&f->channels[page % f->channel_count], at_ps, span_ps);
    mem_ps start_ps = end_ps - span_ps;

    return (MemFlashTimes){.start_ps = start_ps, .end_ps = end_ps, .queue_wait_ps = start_ps - at_ps};
}

MemFlashTimes mem_flash_read(MemFlash *f, MemCounters *count, uint64_t page, mem_ps at_ps) {
    count->flash_reads++;
    return occupy(f, page, at_ps, f->active.read_ps);
}

MemFlashTimes mem_flash_program(MemFlash *f, MemCounters *count, uint64_t page, mem_ps at_ps) {
    count->flash_programs++;
    return occupy(f, page, at_ps, f->active.program_ps);
}
