/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The units of the model: virtual time, and lines of memory. */
#ifndef MODEL_UNITS_H
#define MODEL_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t mem_ps; /* a point in virtual time or a span of it, in picoseconds */

#define MEMSYS_LINE_BYTES 64u
#define MEM_NO_LINE UINT64_MAX
#define MEM_NO_SLOT UINT32_MAX   /* a line that is not in L1 */
#define MEM_ALL_BYTES UINT64_MAX /* the byte mask of a whole line */

#endif
