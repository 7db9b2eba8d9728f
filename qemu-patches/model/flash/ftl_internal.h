/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks and mapping of the FTL; for ftl.c, gc.c and flash_state.c only. */
#ifndef MODEL_FTL_INTERNAL_H
#define MODEL_FTL_INTERNAL_H

#include "ftl.h"

/* A physical page. */
typedef struct MemFlashPlace {
    uint64_t plane;
    uint32_t block;
    uint32_t index;
} MemFlashPlace;

uint64_t mem_ftl_leaf_count(const MemFlashGeometry *g);
uint64_t mem_ftl_chunk_count(const MemFlashGeometry *g);
/* Logical pages that a plane has at the start, and the most it may have ever. */
uint64_t mem_ftl_share(const MemFlashGeometry *g, uint64_t plane);
uint64_t mem_ftl_most_live(const MemFlashGeometry *g);
/* Pages of a block that are written at the start, and which they are. */
uint32_t mem_ftl_first_written(const MemFlashGeometry *g, uint64_t plane, uint32_t block);
uint64_t mem_ftl_first_page(const MemFlashGeometry *g, uint64_t plane, uint32_t block, uint32_t index);

/* Physical pages as numbers. */
uint64_t mem_ftl_number(const MemFlashGeometry *g, MemFlashPlace place);
MemFlashPlace mem_ftl_place(const MemFlashGeometry *g, uint64_t number);

/* Where a logical page is at the start, and is now. */
uint64_t mem_ftl_first_number(const MemFlashGeometry *g, uint64_t page);
uint64_t mem_ftl_look_up(const MemFtlMap *ftl, uint64_t page);

/* The table of the mapping that holds a page, made if it must be. */
uint64_t *mem_ftl_leaf(MemFtlMap *ftl, uint64_t page);
/* A block with memory of its own, made if it must be; NULL from peek if it is as at the start. */
MemFlashBlock *mem_ftl_block(MemFtlMap *ftl, uint64_t plane, uint32_t block);
const MemFlashBlock *mem_ftl_peek(const MemFtlMap *ftl, uint64_t plane, uint32_t block);

/* The first block from number `*id` on that is not as at the start, and its number; NULL: none. */
const MemFlashBlock *mem_ftl_next_changed(const MemFtlMap *ftl, uint64_t *id);

/* A full block enters or leaves the list of those with as many valid pages. */
void mem_ftl_link(MemFtlMap *ftl, uint64_t plane, uint32_t block);
void mem_ftl_unlink(MemFtlMap *ftl, uint64_t plane, uint32_t block);

uint64_t mem_ftl_free_blocks(const MemFtlMap *ftl, uint64_t plane);
void mem_ftl_add_erased(MemFlashPlane *plane, uint32_t block);

/* Write a logical page at the plane's write point. */
void mem_ftl_write(MemFtlMap *ftl, uint64_t plane, uint64_t page);
/* Clean one block of a plane; returns how many pages moved, and adds to `*lost` those that could not be read. */
uint32_t mem_gc_clean(MemFtlMap *ftl, uint64_t plane, uint64_t *lost);
/* Which block that would be, or MEM_FTL_NO_BLOCK. */
uint32_t mem_gc_victim(const MemFtlMap *ftl, uint64_t plane);

#endif
