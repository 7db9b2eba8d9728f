/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks and mapping of the FTL, for the files of this folder. ftl.c programs pages and calls gc.c, which cleans
 * blocks. Both change the state, which is in ftl_map.c. ftl_geometry.c is arithmetic and calls no other file.
 * ftl_check.c checks the state, flash_state.c saves and loads it.
 */
#ifndef MODEL_FTL_INTERNAL_H
#define MODEL_FTL_INTERNAL_H

#include "ftl.h"

/* A physical page. */
typedef struct MemFlashPlace {
    uint64_t plane;
    uint32_t block;
    uint32_t index;
} MemFlashPlace;

/* ---- ftl_geometry.c ---- */

uint64_t mem_ftl_leaf_count(const MemFlashGeometry *g);
uint64_t mem_ftl_chunk_count(const MemFlashGeometry *g);
/* The logical pages of a plane at the start, and the most that it may have at any time. */
uint64_t mem_ftl_share(const MemFlashGeometry *g, uint64_t plane);
uint64_t mem_ftl_most_live(const MemFlashGeometry *g);
/* At the start: how many blocks of a plane hold pages, how many pages a block holds, the logical page at an index. */
uint32_t mem_ftl_first_used(const MemFlashGeometry *g, uint64_t plane);
uint32_t mem_ftl_first_written(const MemFlashGeometry *g, uint64_t plane, uint32_t block);
uint64_t mem_ftl_first_page(const MemFlashGeometry *g, uint64_t plane, uint32_t block, uint32_t index);
/* Physical pages as numbers, and the number of the place of a logical page at the start. */
uint64_t mem_ftl_number(const MemFlashGeometry *g, MemFlashPlace place);
MemFlashPlace mem_ftl_place(const MemFlashGeometry *g, uint64_t number);
uint64_t mem_ftl_first_number(const MemFlashGeometry *g, uint64_t page);

/* ---- ftl_map.c ---- */

/* The number of the present place of a logical page. */
uint64_t mem_ftl_look_up(const MemFtlMap *ftl, uint64_t page);
/* The table of the mapping that holds a page, created if necessary. */
uint64_t *mem_ftl_leaf(MemFtlMap *ftl, uint64_t page);
/*
 * A block with memory, which mem_ftl_block() creates if necessary. mem_ftl_peek() returns NULL for a block as at the
 * start.
 */
MemFlashBlock *mem_ftl_block(MemFtlMap *ftl, uint64_t plane, uint32_t block);
const MemFlashBlock *mem_ftl_peek(const MemFtlMap *ftl, uint64_t plane, uint32_t block);
/* The first block from number `*id` on that is not as at the start, with its number in `*id`; NULL if all are. */
const MemFlashBlock *mem_ftl_next_changed(const MemFtlMap *ftl, uint64_t *id);

/* Put a full block into the list of blocks with as many valid pages, or remove it. */
void mem_ftl_link(MemFtlMap *ftl, uint64_t plane, uint32_t block);
void mem_ftl_unlink(MemFtlMap *ftl, uint64_t plane, uint32_t block);

uint64_t mem_ftl_free_blocks(const MemFtlMap *ftl, uint64_t plane);
void mem_ftl_add_erased(MemFlashPlane *plane, uint32_t block);

/* Write a logical page at the plane's write point. */
void mem_ftl_write(MemFtlMap *ftl, uint64_t plane, uint64_t page);
/* The logical page at a place is written elsewhere. */
void mem_ftl_invalidate(MemFtlMap *ftl, MemFlashPlace place);

/* ---- gc.c ---- */

/* Clean one block of a plane. Returns how many pages moved, and adds the number of unreadable pages to `*lost`. */
uint32_t mem_gc_clean(MemFtlMap *ftl, uint64_t plane, uint64_t *lost);
/* The block that mem_gc_clean() would clean, or MEM_FTL_NO_BLOCK. */
uint32_t mem_gc_victim(const MemFtlMap *ftl, uint64_t plane);

#endif
