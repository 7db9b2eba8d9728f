/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which cores' private caches hold a line. Exact, because the directory is told of
 * each line that arrives and leaves. A hash table with room for every line that the
 * caches can hold at once.
 */
#ifndef MODEL_DIRECTORY_H
#define MODEL_DIRECTORY_H

#include "../base/units.h"

typedef struct MemHolders {
    uint64_t line;  /* MEM_NO_LINE: unused */
    uint32_t cores; /* bit i: core i; 0: no core */
} MemHolders;

typedef struct MemDirectory {
    MemHolders *places; /* NULL with one core, which needs no directory */
    uint64_t mask;      /* number of places, a power of two, - 1 */
    unsigned shift;
    uint64_t count; /* holders, over all lines */
} MemDirectory;

/* `lines`: the number of lines that all private caches hold. */
void mem_directory_init(MemDirectory *d, uint64_t lines);
void mem_directory_destroy(MemDirectory *d);
void mem_directory_clear(MemDirectory *d);

/* The cores that hold the line, one bit each. */
uint32_t mem_directory_holders(const MemDirectory *d, uint64_t line);
/* Record that a core holds the line, or no longer holds it. A call may repeat the present state. */
void mem_directory_add(MemDirectory *d, uint64_t line, uint32_t core);
void mem_directory_remove(MemDirectory *d, uint64_t line, uint32_t core);

#endif
