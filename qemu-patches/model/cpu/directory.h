/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which cores' private caches hold a line: exact, and told of each line that
 * comes and goes. A hash with room for every line that they can hold at once.
 */
#ifndef MODEL_DIRECTORY_H
#define MODEL_DIRECTORY_H

#include "../base/units.h"

typedef struct MemHolders {
    uint64_t line;  /* MEM_NO_LINE: unused */
    uint32_t cores; /* bit i: core i; 0: of no core any more */
} MemHolders;

typedef struct MemDirectory {
    MemHolders *places; /* NULL: of one core, which needs none */
    uint64_t mask;      /* of places, a power of two */
    unsigned shift;
    uint64_t count; /* cores of all lines */
} MemDirectory;

/* `lines`: as many as all private caches hold. */
void mem_directory_init(MemDirectory *d, uint64_t lines);
void mem_directory_destroy(MemDirectory *d);
void mem_directory_clear(MemDirectory *d);

/* The cores that hold the line, bit by bit. */
uint32_t mem_directory_holders(const MemDirectory *d, uint64_t line);
/* A core holds it, or does not any more; it may have before. */
void mem_directory_add(MemDirectory *d, uint64_t line, uint32_t core);
void mem_directory_remove(MemDirectory *d, uint64_t line, uint32_t core);

#endif
