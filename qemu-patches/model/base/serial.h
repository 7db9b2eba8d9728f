/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Something that does one thing at a time, in the order it is asked: a link
 * direction, a DRAM channel, a flash channel. The time it is free again is all
 * its state; a gap before a late request is not filled by a later one.
 */
#ifndef MODEL_SERIAL_H
#define MODEL_SERIAL_H

#include "units.h"

#define MEM_PS_PER_S 1000000000000u

typedef struct MemSerial {
    mem_ps free_at_ps;
} MemSerial;

static inline mem_ps mem_later(mem_ps a_ps, mem_ps b_ps) { return a_ps > b_ps ? a_ps : b_ps; }

/* Occupy it for `span_ps` from `at_ps` or when it is free; returns the end. */
static inline mem_ps mem_serial_occupy(MemSerial *s, mem_ps at_ps, mem_ps span_ps) {
    s->free_at_ps = mem_later(s->free_at_ps, at_ps) + span_ps;
    return s->free_at_ps;
}

/* The time one line takes at `bandwidth` bytes per second, rounded up. */
static inline mem_ps mem_line_transfer_ps(uint64_t bandwidth) {
    const uint64_t line_ps = (uint64_t)MEMSYS_LINE_BYTES * MEM_PS_PER_S;
    return (line_ps - 1) / bandwidth + 1;
}

#endif
