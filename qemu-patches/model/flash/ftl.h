/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A page-mapped flash translation layer: where each logical page is, which
 * blocks are free, and what cleaning moves. It knows nothing of time.
 *
 * From the start every logical page is mapped: page p is on plane p mod planes,
 * in order. Only what differs from that has memory: tables of the mapping and
 * of blocks are made when something in them first changes.
 */
#ifndef MODEL_FTL_H
#define MODEL_FTL_H

#include "../config/device.h"
#include "read_errors.h"

#define MEM_FTL_NO_PAGE UINT64_MAX
#define MEM_FTL_NO_BLOCK UINT32_MAX

#define MEM_FTL_LEAF_PAGES 2048u  /* logical pages of a table of the mapping */
#define MEM_FTL_CHUNK_BLOCKS 64u  /* blocks of a table of blocks */
#define MEM_FTL_MAX_AGE INT32_MAX /* beyond it, blocks are equally old */

typedef struct MemFlashGeometry {
    uint64_t logical_pages;
    uint64_t planes;
    uint64_t blocks; /* of a plane */
    uint32_t block_pages;
    uint32_t gc_free_blocks;
} MemFlashGeometry;

typedef struct MemFlashBlock {
    uint64_t *pages;   /* the logical page that each holds, or MEM_FTL_NO_PAGE; NULL: as at the start */
    uint64_t modified; /* the plane's clock when a page was last written or invalidated */
    uint32_t older;    /* neighbours among the full blocks with as many valid pages */
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
    MemBlockList *full; /* by valid pages, below block_pages; NULL until one is wanted */
    uint32_t *erased;   /* free blocks that have been used, in no order */
    uint32_t erased_count;
    uint32_t erased_room;
    uint32_t fresh; /* blocks from here on are free and were never used */
    uint32_t open;  /* the write point's, or MEM_FTL_NO_BLOCK */
    uint64_t live;  /* valid pages */
    uint64_t clock; /* pages written and invalidated */
} MemFlashPlane;

/* Everything since the mapping was the initial one. */
typedef struct MemFtlTotals {
    uint64_t host_programs;
    uint64_t gc_moves;
    uint64_t erases;
} MemFtlTotals;

/* Told of each logical page that cleaning moves and cannot read: where it goes there is nothing of it. */
typedef struct MemPageLost {
    void (*lost)(void *opaque, uint64_t page);
    void *opaque;
} MemPageLost;

typedef struct MemFtlMap {
    MemFlashGeometry geometry;
    uint32_t policy; /* MemGc */
    MemReadErrors errors;
    MemPageLost listener;
    uint64_t next_plane; /* round robin */
    MemFlashPlane *planes;
    uint64_t **leaves;      /* of the mapping; NULL: as at the start */
    MemFlashBlock **chunks; /* of the blocks; NULL: as at the start */
    MemFtlTotals totals;
} MemFtlMap;

/* What a program sets off. */
typedef struct MemFtlProgram {
    uint64_t plane;     /* where it goes */
    uint64_t old_plane; /* where the page was */
    uint64_t moves;     /* pages that cleaning the plane moved first */
    uint64_t erases;
    uint64_t lost; /* of the moved, those that could not be read */
} MemFtlProgram;

/* All planes of a device. */
uint64_t mem_flash_plane_count(const MemDeviceConfig *config);
/* The geometry that a configuration asks for, and NULL or why it is impossible. */
MemFlashGeometry mem_ftl_geometry(const MemDeviceConfig *config);
const char *mem_ftl_check_geometry(const MemFlashGeometry *g);

MemFtlMap *mem_ftl_new(const MemDeviceConfig *config);
/* As new, but for its listener. */
MemFtlMap *mem_ftl_renew(const MemFtlMap *ftl);
void mem_ftl_free(MemFtlMap *ftl); /* may be NULL */

/* The plane a logical page is on. */
uint64_t mem_ftl_plane_of(const MemFtlMap *ftl, uint64_t page);
/* Whether it cannot be read there. */
bool mem_ftl_is_lost(const MemFtlMap *ftl, uint64_t page);
/* Write a logical page elsewhere. */
MemFtlProgram mem_ftl_program(MemFtlMap *ftl, uint64_t page);

/* The erases of a block, on average, in per cent of those it is rated for; MEM_LIFE_UNKNOWN if that is 0. */
uint64_t mem_ftl_life_used_percent(const MemFtlMap *ftl, uint32_t endurance_cycles);

/* NULL, or the law that is broken. Linear in what has memory. */
const char *mem_ftl_check(const MemFtlMap *ftl);

#endif
