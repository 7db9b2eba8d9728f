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

mem_ps mem_flash_read(MemFlash *f, uint64_t page, mem_ps at_ps) {
    return mem_serial_occupy(&f->channels[page % f->channel_count], at_ps, f->active.read_ps);
}

mem_ps mem_flash_program(MemFlash *f, uint64_t page, mem_ps at_ps) {
    return mem_serial_occupy(&f->channels[page % f->channel_count], at_ps, f->active.program_ps);
}
