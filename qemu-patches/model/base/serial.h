/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transfer times of lines. */
#ifndef MODEL_SERIAL_H
#define MODEL_SERIAL_H

#include "units.h"

#define MEM_PS_PER_S 1000000000000u

static inline mem_ps mem_later(mem_ps a_ps, mem_ps b_ps) { return a_ps > b_ps ? a_ps : b_ps; }

/* The time that one line takes at `bandwidth` bytes per second, rounded up. */
static inline mem_ps mem_line_transfer_ps(uint64_t bandwidth) {
    const uint64_t line_ps = (uint64_t)MEMSYS_LINE_BYTES * MEM_PS_PER_S;
    return (line_ps - 1) / bandwidth + 1;
}

#endif
