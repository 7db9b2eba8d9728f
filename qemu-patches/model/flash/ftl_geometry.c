/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arithmetic of a flash translation layer: its geometry, the numbers of physical pages and the initial mapping. */
#include "ftl_internal.h"

#include <assert.h>

#define MAX_BLOCK_PAGES 65536u

static uint64_t divide_up(uint64_t n, uint64_t by) { return n / by + (n % by != 0); }

uint64_t mem_flash_plane_count(const MemDeviceConfig *c) {
    return (uint64_t)c->flash_channels * c->flash_dies * c->flash_planes;
}

MemFlashGeometry mem_ftl_geometry(const MemDeviceConfig *c) {
    MemFlashGeometry g = {
        .logical_pages = c->capacity_bytes / c->cache_page_bytes,
        .planes = mem_flash_plane_count(c),
        .block_pages = c->flash_block_pages,
        .gc_free_blocks = c->flash_gc_free_blocks,
    };
    g.blocks = divide_up(g.logical_pages * (1000 + (uint64_t)c->flash_over_provisioning_permille),
                         1000 * g.block_pages * g.planes);
    return g;
}

uint64_t mem_ftl_leaf_count(const MemFlashGeometry *g) { return divide_up(g->logical_pages, MEM_FTL_LEAF_PAGES); }

uint64_t mem_ftl_chunk_count(const MemFlashGeometry *g) {
    return divide_up(g->planes * g->blocks, MEM_FTL_CHUNK_BLOCKS);
}

uint64_t mem_ftl_share(const MemFlashGeometry *g, uint64_t plane) {
    return g->logical_pages / g->planes + (plane < g->logical_pages % g->planes);
}

/*
 * The live pages of a plane fit into all but gc_free_blocks + 1 of its blocks. So
 * while cleaning is due, some full block has an invalid page, and each cleaned
 * block gains room.
 */
uint64_t mem_ftl_most_live(const MemFlashGeometry *g) {
    uint64_t spare = (uint64_t)g->gc_free_blocks + 1;
    return g->blocks > spare ? (g->blocks - spare) * g->block_pages : 0;
}

uint32_t mem_ftl_first_used(const MemFlashGeometry *g, uint64_t plane) {
    return (uint32_t)divide_up(mem_ftl_share(g, plane), g->block_pages);
}

uint32_t mem_ftl_first_written(const MemFlashGeometry *g, uint64_t plane, uint32_t block) {
    uint64_t share = mem_ftl_share(g, plane);
    uint64_t before = (uint64_t)block * g->block_pages;

    if (share <= before) {
        return 0;
    }
    return share - before < g->block_pages ? (uint32_t)(share - before) : g->block_pages;
}

uint64_t mem_ftl_first_page(const MemFlashGeometry *g, uint64_t plane, uint32_t block, uint32_t index) {
    return ((uint64_t)block * g->block_pages + index) * g->planes + plane;
}

uint64_t mem_ftl_number(const MemFlashGeometry *g, MemFlashPlace p) {
    return (p.plane * g->blocks + p.block) * g->block_pages + p.index;
}

MemFlashPlace mem_ftl_place(const MemFlashGeometry *g, uint64_t number) {
    uint64_t block = number / g->block_pages;

    return (MemFlashPlace){
        .plane = block / g->blocks,
        .block = (uint32_t)(block % g->blocks),
        .index = (uint32_t)(number % g->block_pages),
    };
}

uint64_t mem_ftl_first_number(const MemFlashGeometry *g, uint64_t page) {
    return page % g->planes * g->blocks * g->block_pages + page / g->planes;
}

const char *mem_ftl_check_geometry(const MemFlashGeometry *g) {
    assert(g->block_pages >= 2 && g->block_pages <= MAX_BLOCK_PAGES && g->gc_free_blocks >= 1);
    if (g->blocks >= MEM_FTL_NO_BLOCK) {
        return "flash_block_pages must be more: a plane has at most 2^32 - 2 blocks";
    }
    if (mem_ftl_most_live(g) < mem_ftl_share(g, 0)) {
        return "flash_over_provisioning_permille must leave each plane flash_gc_free_blocks + 1 blocks beyond its "
               "share of the capacity";
    }
    return NULL;
}
