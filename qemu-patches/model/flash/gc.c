/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Garbage collection: the choice of a full block, and its cleaning. */
#include <assert.h>

#include "ftl_internal.h"

/* The block with the fewest valid pages; among equals, the block that changed least recently. */
static uint32_t greedy(const MemFlashPlane *p, uint32_t block_pages) {
    for (uint32_t valid = 0; valid < block_pages; valid++) {
        if (p->full[valid].oldest != MEM_FTL_NO_BLOCK) {
            return p->full[valid].oldest;
        }
    }
    return MEM_FTL_NO_BLOCK;
}

static uint64_t age_of(const MemFtlMap *ftl, uint64_t plane, uint32_t block) {
    uint64_t age = ftl->planes[plane].clock - mem_ftl_peek(ftl, plane, block)->modified;
    return age < MEM_FTL_MAX_AGE ? age : MEM_FTL_MAX_AGE;
}

/*
 * Kawaguchi et al. 1995: the block with the most of age * (1 - u) / 2u, where u is
 * the valid part of the block. In whole numbers, block 1 is better than block 2 if
 * a_1 * (n - v_1) * v_2 > a_2 * (n - v_2) * v_1. An age below 2^31 and n up to 2^16
 * keep both sides below 2^63. Within a list the oldest block has the most.
 */
static uint32_t cost_benefit(const MemFtlMap *ftl, uint64_t plane) {
    const MemFlashPlane *p = &ftl->planes[plane];
    uint64_t n = ftl->geometry.block_pages;
    uint32_t best = p->full[0].oldest; /* no valid page: cleaning has no cost */
    uint64_t best_gain = 0;
    uint64_t best_valid = 0;

    for (uint32_t valid = 1; valid < n && p->full[0].oldest == MEM_FTL_NO_BLOCK; valid++) {
        uint32_t block = p->full[valid].oldest;
        uint64_t gain = block == MEM_FTL_NO_BLOCK ? 0 : age_of(ftl, plane, block) * (n - valid);
        if (block != MEM_FTL_NO_BLOCK && (best == MEM_FTL_NO_BLOCK || gain * best_valid > best_gain * valid)) {
            best = block;
            best_gain = gain;
            best_valid = valid;
        }
    }
    return best;
}

uint32_t mem_gc_victim(const MemFtlMap *ftl, uint64_t plane) {
    const MemFlashPlane *p = &ftl->planes[plane];

    if (!p->full) {
        return MEM_FTL_NO_BLOCK;
    }
    return ftl->policy == MEM_GC_GREEDY ? greedy(p, ftl->geometry.block_pages) : cost_benefit(ftl, plane);
}

/* Report a page that cannot be read. It is moved all the same, because its place is needed; its content stays lost. */
static bool tell_if_lost(const MemFtlMap *ftl, uint64_t page) {
    bool lost = mem_ftl_is_lost(ftl, page);

    if (lost && ftl->listener.lost) {
        ftl->listener.lost(ftl->listener.opaque, page);
    }
    return lost;
}

uint32_t mem_gc_clean(MemFtlMap *ftl, uint64_t plane, uint64_t *lost) {
    uint32_t victim = mem_gc_victim(ftl, plane);
    assert(victim != MEM_FTL_NO_BLOCK); /* ensured by mem_ftl_most_live() */
    MemFlashBlock *b = mem_ftl_block(ftl, plane, victim);
    uint32_t moves = b->valid;

    mem_ftl_unlink(ftl, plane, victim);
    for (uint32_t i = 0; i < ftl->geometry.block_pages; i++) {
        uint64_t page = b->pages[i];
        if (page != MEM_FTL_NO_PAGE) {
            *lost += tell_if_lost(ftl, page);
            ftl->planes[plane].live--;
            mem_ftl_write(ftl, plane, page);
            b->pages[i] = MEM_FTL_NO_PAGE;
        }
    }
    b->valid = 0;
    b->written = 0;
    b->wear++;
    mem_ftl_add_erased(&ftl->planes[plane], victim);
    return moves;
}
