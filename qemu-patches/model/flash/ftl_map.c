/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a flash translation layer: tables of the mapping and of blocks, lists of full blocks, free blocks. */
#include "ftl_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "../base/mem_alloc.h"

static void init_plane(const MemFlashGeometry *g, uint64_t plane, MemFlashPlane *p) {
    uint64_t share = mem_ftl_share(g, plane);

    p->live = share;
    p->fresh = mem_ftl_first_used(g, plane);
    p->open = share % g->block_pages ? p->fresh - 1 : MEM_FTL_NO_BLOCK;
}

static MemFtlMap *make(const MemFlashGeometry *g, uint32_t policy) {
    MemFtlMap *ftl = mem_calloc(1, sizeof(*ftl));

    assert(!mem_ftl_check_geometry(g));
    ftl->geometry = *g;
    ftl->policy = policy;
    ftl->leaves = mem_calloc(mem_ftl_leaf_count(&ftl->geometry), sizeof(*ftl->leaves));
    ftl->chunks = mem_calloc(mem_ftl_chunk_count(&ftl->geometry), sizeof(*ftl->chunks));
    ftl->planes = mem_calloc(ftl->geometry.planes, sizeof(*ftl->planes));
    for (uint64_t plane = 0; plane < ftl->geometry.planes; plane++) {
        init_plane(&ftl->geometry, plane, &ftl->planes[plane]);
    }
    return ftl;
}

MemFtlMap *mem_ftl_new(const MemDeviceConfig *config) {
    MemFlashGeometry g = mem_ftl_geometry(config);
    MemFtlMap *ftl = make(&g, config->flash_gc);

    ftl->errors = mem_read_errors_of(config);
    return ftl;
}

MemFtlMap *mem_ftl_renew(const MemFtlMap *ftl) {
    MemFtlMap *renewed = make(&ftl->geometry, ftl->policy);

    renewed->errors = ftl->errors;
    renewed->listener = ftl->listener;
    return renewed;
}

static void free_chunk(MemFlashBlock *chunk) {
    for (uint32_t i = 0; chunk && i < MEM_FTL_CHUNK_BLOCKS; i++) {
        free(chunk[i].pages);
    }
    free(chunk);
}

void mem_ftl_free(MemFtlMap *ftl) {
    if (!ftl) {
        return;
    }
    for (uint64_t i = 0; i < mem_ftl_leaf_count(&ftl->geometry); i++) {
        free(ftl->leaves[i]);
    }
    for (uint64_t i = 0; i < mem_ftl_chunk_count(&ftl->geometry); i++) {
        free_chunk(ftl->chunks[i]);
    }
    for (uint64_t plane = 0; plane < ftl->geometry.planes; plane++) {
        free(ftl->planes[plane].full);
        free(ftl->planes[plane].erased);
    }
    free(ftl->leaves);
    free(ftl->chunks);
    free(ftl->planes);
    free(ftl);
}

/* ---- Tables ---- */

uint64_t mem_ftl_look_up(const MemFtlMap *ftl, uint64_t page) {
    const uint64_t *leaf = ftl->leaves[page / MEM_FTL_LEAF_PAGES];
    return leaf ? leaf[page % MEM_FTL_LEAF_PAGES] : mem_ftl_first_number(&ftl->geometry, page);
}

uint64_t *mem_ftl_leaf(MemFtlMap *ftl, uint64_t page) {
    uint64_t **leaf = &ftl->leaves[page / MEM_FTL_LEAF_PAGES];
    uint64_t first = page - page % MEM_FTL_LEAF_PAGES;

    if (!*leaf) {
        *leaf = mem_calloc(MEM_FTL_LEAF_PAGES, sizeof(**leaf));
        for (uint32_t i = 0; i < MEM_FTL_LEAF_PAGES; i++) {
            (*leaf)[i] = mem_ftl_first_number(&ftl->geometry, first + i);
        }
    }
    return *leaf;
}

const MemFlashBlock *mem_ftl_peek(const MemFtlMap *ftl, uint64_t plane, uint32_t block) {
    uint64_t id = plane * ftl->geometry.blocks + block;
    const MemFlashBlock *chunk = ftl->chunks[id / MEM_FTL_CHUNK_BLOCKS];
    const MemFlashBlock *b = chunk ? &chunk[id % MEM_FTL_CHUNK_BLOCKS] : NULL;

    return b && b->pages ? b : NULL;
}

const MemFlashBlock *mem_ftl_next_changed(const MemFtlMap *ftl, uint64_t *id) {
    uint64_t end = ftl->geometry.planes * ftl->geometry.blocks;

    for (; *id < end; ++*id) {
        const MemFlashBlock *chunk = ftl->chunks[*id / MEM_FTL_CHUNK_BLOCKS];
        const MemFlashBlock *b = chunk ? &chunk[*id % MEM_FTL_CHUNK_BLOCKS] : NULL;
        if (b && b->pages) {
            return b;
        }
        if (!chunk) {
            *id |= MEM_FTL_CHUNK_BLOCKS - 1; /* no changed block in this table */
        }
    }
    return NULL;
}

/* Allocate a block's table of pages and fill it with the pages of the start. */
static void fill_first(const MemFlashGeometry *g, uint64_t plane, uint32_t block, MemFlashBlock *b) {
    b->pages = mem_calloc(g->block_pages, sizeof(*b->pages));
    b->written = mem_ftl_first_written(g, plane, block);
    b->valid = b->written;
    for (uint32_t i = 0; i < g->block_pages; i++) {
        b->pages[i] = i < b->written ? mem_ftl_first_page(g, plane, block, i) : MEM_FTL_NO_PAGE;
    }
}

MemFlashBlock *mem_ftl_block(MemFtlMap *ftl, uint64_t plane, uint32_t block) {
    uint64_t id = plane * ftl->geometry.blocks + block;
    MemFlashBlock **chunk = &ftl->chunks[id / MEM_FTL_CHUNK_BLOCKS];

    if (!*chunk) {
        *chunk = mem_calloc(MEM_FTL_CHUNK_BLOCKS, sizeof(**chunk));
    }
    MemFlashBlock *b = &(*chunk)[id % MEM_FTL_CHUNK_BLOCKS];
    if (!b->pages) {
        fill_first(&ftl->geometry, plane, block, b);
    }
    return b;
}

/* ---- Lists of full blocks by valid pages; a block with all pages valid is in no list ---- */

static MemBlockList *list_of(MemFtlMap *ftl, uint64_t plane, uint32_t valid) {
    MemFlashPlane *p = &ftl->planes[plane];
    uint32_t block_pages = ftl->geometry.block_pages;

    if (!p->full) {
        p->full = mem_calloc(block_pages, sizeof(*p->full));
        for (uint32_t i = 0; i < block_pages; i++) {
            p->full[i] = (MemBlockList){MEM_FTL_NO_BLOCK, MEM_FTL_NO_BLOCK};
        }
    }
    return valid < block_pages ? &p->full[valid] : NULL;
}

void mem_ftl_link(MemFtlMap *ftl, uint64_t plane, uint32_t block) {
    MemFlashBlock *b = mem_ftl_block(ftl, plane, block);
    MemBlockList *list = list_of(ftl, plane, b->valid);

    if (!list) {
        return;
    }
    b->newer = MEM_FTL_NO_BLOCK;
    b->older = list->newest;
    if (list->newest == MEM_FTL_NO_BLOCK) {
        list->oldest = block;
    } else {
        mem_ftl_block(ftl, plane, list->newest)->newer = block;
    }
    list->newest = block;
}

void mem_ftl_unlink(MemFtlMap *ftl, uint64_t plane, uint32_t block) {
    MemFlashBlock *b = mem_ftl_block(ftl, plane, block);
    MemBlockList *list = list_of(ftl, plane, b->valid);

    if (!list) {
        return;
    }
    *(b->older == MEM_FTL_NO_BLOCK ? &list->oldest : &mem_ftl_block(ftl, plane, b->older)->newer) = b->newer;
    *(b->newer == MEM_FTL_NO_BLOCK ? &list->newest : &mem_ftl_block(ftl, plane, b->newer)->older) = b->older;
}

/* ---- Free blocks ---- */

uint64_t mem_ftl_free_blocks(const MemFtlMap *ftl, uint64_t plane) {
    const MemFlashPlane *p = &ftl->planes[plane];
    return ftl->geometry.blocks - p->fresh + p->erased_count;
}

void mem_ftl_add_erased(MemFlashPlane *p, uint32_t block) {
    if (p->erased_count == p->erased_room) {
        p->erased_room = p->erased_room ? 2 * p->erased_room : 4;
        p->erased = mem_regrow(p->erased, p->erased_room, sizeof(*p->erased));
    }
    p->erased[p->erased_count++] = block;
}

/* Whether the free block `a` is used before the free block `b`. */
static bool goes_first(const MemFtlMap *ftl, uint64_t plane, uint32_t a, uint32_t b) {
    uint32_t wear_a = mem_ftl_peek(ftl, plane, a)->wear;
    uint32_t wear_b = mem_ftl_peek(ftl, plane, b)->wear;

    return wear_a != wear_b ? wear_a < wear_b : a < b;
}

/* Take the least worn free block, the lowest of equals. */
static uint32_t take_free(MemFtlMap *ftl, uint64_t plane) {
    MemFlashPlane *p = &ftl->planes[plane];
    uint32_t best = 0;

    if (p->fresh < ftl->geometry.blocks) {
        return p->fresh++;
    }
    assert(p->erased_count);
    for (uint32_t i = 1; i < p->erased_count; i++) {
        best = goes_first(ftl, plane, p->erased[i], p->erased[best]) ? i : best;
    }
    uint32_t block = p->erased[best];
    p->erased[best] = p->erased[--p->erased_count];
    return block;
}

/* ---- Writing ---- */

void mem_ftl_write(MemFtlMap *ftl, uint64_t plane, uint64_t page) {
    MemFlashPlane *p = &ftl->planes[plane];

    if (p->open == MEM_FTL_NO_BLOCK) {
        p->open = take_free(ftl, plane);
    }
    uint32_t block = p->open;
    MemFlashBlock *b = mem_ftl_block(ftl, plane, block);
    MemFlashPlace place = {plane, block, b->written};
    mem_ftl_leaf(ftl, page)[page % MEM_FTL_LEAF_PAGES] = mem_ftl_number(&ftl->geometry, place);
    b->pages[b->written++] = page;
    b->valid++;
    b->modified = ++p->clock;
    p->live++;
    if (b->written == ftl->geometry.block_pages) {
        p->open = MEM_FTL_NO_BLOCK;
        mem_ftl_link(ftl, plane, block);
    }
}

void mem_ftl_invalidate(MemFtlMap *ftl, MemFlashPlace place) {
    MemFlashPlane *p = &ftl->planes[place.plane];
    MemFlashBlock *b = mem_ftl_block(ftl, place.plane, place.block);
    bool full = b->written == ftl->geometry.block_pages;

    if (full) {
        mem_ftl_unlink(ftl, place.plane, place.block);
    }
    b->pages[place.index] = MEM_FTL_NO_PAGE;
    b->valid--;
    b->modified = ++p->clock;
    p->live--;
    if (full) {
        mem_ftl_link(ftl, place.plane, place.block);
    }
}

/* ---- Reading ---- */

uint64_t mem_ftl_plane_of(const MemFtlMap *ftl, uint64_t page) {
    return mem_ftl_place(&ftl->geometry, mem_ftl_look_up(ftl, page)).plane;
}

bool mem_ftl_is_lost(const MemFtlMap *ftl, uint64_t page) {
    uint64_t number = mem_ftl_look_up(ftl, page);
    MemFlashPlace place = mem_ftl_place(&ftl->geometry, number);
    const MemFlashBlock *b = mem_ftl_peek(ftl, place.plane, place.block);

    return mem_read_fails(&ftl->errors, number, b ? b->wear : 0);
}
