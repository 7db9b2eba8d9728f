/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A page-mapped flash translation layer: the place of each logical page, the free
 * blocks, and the pages that cleaning moves. It knows nothing of time.
 *
 * At the start every logical page is mapped: page p is on plane p mod planes, in
 * order. Only differences from that take memory: a table of the mapping or of
 * blocks is created when something in it first changes.
 */
#ifndef MODEL_FTL_H
#define MODEL_FTL_H

#include "../config/device.h"
#include "read_errors.h"

#define MEM_FTL_NO_PAGE UINT64_MAX
#define MEM_FTL_NO_BLOCK UINT32_MAX

#define MEM_FTL_LEAF_PAGES 2048u  /* logical pages of a table of the mapping */
#define MEM_FTL_CHUNK_BLOCKS 64u  /* blocks of a table of blocks */
#define MEM_FTL_MAX_AGE INT32_MAX /* older blocks count as equally old */

typedef struct MemFlashGeometry {
    uint64_t logical_pages;
    uint64_t planes;
    uint64_t blocks; /* in each plane */
    uint32_t block_pages;
    uint32_t gc_free_blocks;
} MemFlashGeometry;

typedef struct MemFlashBlock {
    uint64_t *pages;   /* logical page at each index, or MEM_FTL_NO_PAGE; NULL: as at the start */
    uint64_t modified; /* the plane's clock when a page was last written or invalidated */
    uint32_t older;    /* neighbours in the list of full blocks with as many valid pages */
    uint32_t newer;
    uint32_t valid;
    uint32_t written;
    uint32_t wear; /* erases */
} MemFlashBlock;

/* Blocks in the order of `modified`, the least recent first. */
typedef struct MemBlockList {
    uint32_t oldest;
    uint32_t newest;
} MemBlockList;

typedef struct MemFlashPlane {
    MemBlockList *full; /* by number of valid pages, below block_pages; NULL until needed */
    uint32_t *erased;   /* free blocks that have been used, in no order */
    uint32_t erased_count;
    uint32_t erased_room;
    uint32_t fresh; /* blocks from here on are free and were never used */
    uint32_t open;  /* block of the write point, or MEM_FTL_NO_BLOCK */
    uint64_t live;  /* valid pages */
    uint64_t clock; /* counts pages written and invalidated */
} MemFlashPlane;

/* Counts since the initial mapping. */
typedef struct MemFtlTotals {
    uint64_t host_programs;
    uint64_t gc_moves;
    uint64_t erases;
} MemFtlTotals;

/* Called for each logical page that cleaning moves but cannot read: its new place holds nothing of its content. */
typedef struct MemPageLost {
    void (*lost)(void *opaque, uint64_t page);
    void *opaque;
} MemPageLost;

typedef struct MemFtlMap {
    MemFlashGeometry geometry;
    uint32_t policy; /* a MemGc */
    MemReadErrors errors;
    MemPageLost listener;
    uint64_t next_plane; /* round robin */
    MemFlashPlane *planes;
    uint64_t **leaves;      /* tables of the mapping; NULL: as at the start */
    MemFlashBlock **chunks; /* tables of blocks; NULL: as at the start */
    MemFtlTotals totals;
} MemFtlMap;

/* The effects of a program. */
typedef struct MemFtlProgram {
    uint64_t plane;     /* of the program */
    uint64_t old_plane; /* of the page before */
    uint64_t moves;     /* pages that cleaning the plane moved first */
    uint64_t erases;
    uint64_t lost; /* moved pages that could not be read */
} MemFtlProgram;

/* The number of planes of a device. */
uint64_t mem_flash_plane_count(const MemDeviceConfig *config);
/* The geometry of a configuration; then NULL, or the reason why a geometry is impossible. */
MemFlashGeometry mem_ftl_geometry(const MemDeviceConfig *config);
const char *mem_ftl_check_geometry(const MemFlashGeometry *g);

MemFtlMap *mem_ftl_new(const MemDeviceConfig *config);
/* A new map with the same configuration and listener. */
MemFtlMap *mem_ftl_renew(const MemFtlMap *ftl);
void mem_ftl_free(MemFtlMap *ftl); /* may be NULL */

/* The plane of a logical page. */
uint64_t mem_ftl_plane_of(const MemFtlMap *ftl, uint64_t page);
/* Whether a logical page cannot be read from its place. */
bool mem_ftl_is_lost(const MemFtlMap *ftl, uint64_t page);
/* Write a logical page to a new place. */
MemFtlProgram mem_ftl_program(MemFtlMap *ftl, uint64_t page);

/* The average number of erases of a block, in per cent of the rated erases; MEM_LIFE_UNKNOWN if the rating is 0. */
uint64_t mem_ftl_life_used_percent(const MemFtlMap *ftl, uint32_t endurance_cycles);

/* NULL, or the broken law. Linear in the size of the tables in memory. */
const char *mem_ftl_check(const MemFtlMap *ftl);

#endif
