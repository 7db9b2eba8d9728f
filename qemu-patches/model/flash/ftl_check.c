/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Laws of a flash translation layer that hold between calls: conservation of pages, blocks and erases. */
#include "ftl_internal.h"

/* Sums over the changed blocks of a plane, or of all planes. */
typedef struct Tally {
    uint64_t valid;
    uint64_t first; /* pages that they hold at the start */
    uint64_t written;
    uint64_t erases;
    uint64_t listed; /* full blocks with an invalid page */
    uint64_t erased;
} Tally;

static const char *check_block(const MemFtlMap *ftl, uint64_t plane, uint32_t block, const MemFlashBlock *b) {
    const MemFlashGeometry *g = &ftl->geometry;
    uint32_t valid = 0;

    for (uint32_t i = 0; i < g->block_pages; i++) {
        uint64_t page = b->pages[i];
        if (page == MEM_FTL_NO_PAGE) {
            continue;
        }
        valid++;
        if (i >= b->written || page >= g->logical_pages ||
            mem_ftl_look_up(ftl, page) != mem_ftl_number(g, (MemFlashPlace){plane, block, i})) {
            return "each valid flash page is where its logical page is mapped";
        }
    }
    if (valid != b->valid || b->written > g->block_pages) {
        return "the valid pages of a flash block are counted right";
    }
    if ((ftl->planes[plane].open == block) != (b->written > 0 && b->written < g->block_pages)) {
        return "the block that is partly written is its plane's write point";
    }
    return NULL;
}

static const char *check_lists(const MemFtlMap *ftl, uint64_t plane, uint64_t listed) {
    const MemFlashPlane *p = &ftl->planes[plane];
    uint64_t seen = 0;

    for (uint32_t valid = 0; p->full && valid < ftl->geometry.block_pages; valid++) {
        uint32_t older = MEM_FTL_NO_BLOCK;
        uint64_t modified = 0;
        for (uint32_t block = p->full[valid].oldest; block != MEM_FTL_NO_BLOCK && seen <= listed;) {
            const MemFlashBlock *b = mem_ftl_peek(ftl, plane, block);
            if (!b || b->older != older || b->valid != valid || b->written != ftl->geometry.block_pages ||
                b->modified <= modified || b->modified > p->clock) {
                return "a full flash block is listed by its valid pages, in the order of changes";
            }
            modified = b->modified;
            older = block;
            block = b->newer;
            seen++;
        }
        if (p->full[valid].newest != older) {
            return "the lists of full flash blocks are whole";
        }
    }
    return seen == listed ? NULL : "each full flash block with an invalid page is in one list";
}

static const char *check_plane(const MemFtlMap *ftl, uint64_t plane, Tally *all) {
    const MemFlashGeometry *g = &ftl->geometry;
    const MemFlashPlane *p = &ftl->planes[plane];
    uint64_t id = plane * g->blocks;
    uint64_t end = id + g->blocks;
    Tally t = {0};

    for (const MemFlashBlock *b; (b = mem_ftl_next_changed(ftl, &id)) && id < end; id++) {
        uint32_t block = (uint32_t)(id - plane * g->blocks);
        const char *broken = check_block(ftl, plane, block, b);
        if (broken) {
            return broken;
        }
        t.valid += b->valid;
        t.first += mem_ftl_first_written(g, plane, block);
        t.written += b->written;
        t.erases += b->wear;
        t.listed += b->written == g->block_pages && b->valid < g->block_pages;
        t.erased += b->written == 0 && block < p->fresh;
    }
    if (p->live + t.first != mem_ftl_share(g, plane) + t.valid || p->live > mem_ftl_most_live(g)) {
        return "the live pages of a flash plane are counted right and leave it room to clean";
    }
    all->valid += p->live;
    all->first += t.first;
    all->written += t.written + t.erases * g->block_pages;
    all->erases += t.erases;
    if (t.erased != p->erased_count) {
        return "the erased flash blocks are the free ones";
    }
    return check_lists(ftl, plane, t.listed);
}

static const char *check_mapping(const MemFtlMap *ftl) {
    const MemFlashGeometry *g = &ftl->geometry;

    for (uint64_t page = 0; page < g->logical_pages; page++) {
        if (!ftl->leaves[page / MEM_FTL_LEAF_PAGES]) {
            page += MEM_FTL_LEAF_PAGES - 1;
            continue;
        }
        uint64_t number = mem_ftl_look_up(ftl, page);
        MemFlashPlace place = mem_ftl_place(g, number);
        const MemFlashBlock *b = place.plane < g->planes ? mem_ftl_peek(ftl, place.plane, place.block) : NULL;
        if (b ? b->pages[place.index] != page : number != mem_ftl_first_number(g, page)) {
            return "each logical page is mapped to a flash page of its own";
        }
    }
    return NULL;
}

const char *mem_ftl_check(const MemFtlMap *ftl) {
    Tally all = {0};

    for (uint64_t plane = 0; plane < ftl->geometry.planes; plane++) {
        const char *broken = check_plane(ftl, plane, &all);
        if (broken) {
            return broken;
        }
    }
    if (all.valid != ftl->geometry.logical_pages) {
        return "flash pages that are mapped = logical pages";
    }
    if (all.erases != ftl->totals.erases) {
        return "the wear of all flash blocks = erases";
    }
    if (all.written != all.first + ftl->totals.host_programs + ftl->totals.gc_moves) {
        return "flash pages written = programs of the host + moves of cleaning";
    }
    return check_mapping(ftl);
}
