/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program of a page with the cleaning that it causes, and the life that all programs have used. */
#include "ftl_internal.h"

#include <assert.h>

/* The next plane in turn that may take one more live page. There is one: all planes have room for all pages. */
static uint64_t choose_plane(MemFtlMap *ftl) {
    uint64_t most = mem_ftl_most_live(&ftl->geometry);
    uint64_t plane;

    do {
        plane = ftl->next_plane;
        ftl->next_plane = (plane + 1) % ftl->geometry.planes;
    } while (ftl->planes[plane].live >= most);
    return plane;
}

MemFtlProgram mem_ftl_program(MemFtlMap *ftl, uint64_t page) {
    MemFlashPlace old = mem_ftl_place(&ftl->geometry, mem_ftl_look_up(ftl, page));
    MemFtlProgram p = {.old_plane = old.plane};

    assert(page < ftl->geometry.logical_pages);
    mem_ftl_invalidate(ftl, old);
    p.plane = choose_plane(ftl);
    while (mem_ftl_free_blocks(ftl, p.plane) < ftl->geometry.gc_free_blocks) {
        p.moves += mem_gc_clean(ftl, p.plane, &p.lost);
        p.erases++;
    }
    mem_ftl_write(ftl, p.plane, page);
    ftl->totals.host_programs++;
    ftl->totals.gc_moves += p.moves;
    ftl->totals.erases += p.erases;
    return p;
}

uint64_t mem_ftl_life_used_percent(const MemFtlMap *ftl, uint32_t endurance_cycles) {
    unsigned __int128 blocks = (unsigned __int128)ftl->geometry.planes * ftl->geometry.blocks;
    unsigned __int128 rated_erases = endurance_cycles * blocks;
    unsigned __int128 erases = ftl->totals.erases + ftl->errors.worn_cycles * blocks;

    return rated_erases ? (uint64_t)(erases * 100 / rated_erases) : MEM_LIFE_UNKNOWN;
}
