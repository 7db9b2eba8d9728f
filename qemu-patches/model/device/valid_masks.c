/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "valid_masks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../base/mem_alloc.h"

#define FIRST_ROOM 64u

void mem_masks_init(MemValidMasks *m, uint32_t page_lines) {
    *m = (MemValidMasks){
        .page_lines = page_lines,
        .most = MEM_MASK_POOL_BYTES / (page_lines * (uint32_t)sizeof(*m->lines)),
    };
}

void mem_masks_destroy(MemValidMasks *m) {
    free(m->lines);
    free(m->missing);
    free(m->free_next);
}

void mem_masks_clear(MemValidMasks *m) {
    m->used = 0;
    m->count = 0;
    m->free = MEM_NO_MASK;
}

static void grow(MemValidMasks *m) {
    m->room = m->room ? m->room * 2 : FIRST_ROOM;
    m->room = m->room < m->most ? m->room : m->most;
    m->lines = mem_regrow(m->lines, (size_t)m->room * m->page_lines, sizeof(*m->lines));
    m->missing = mem_regrow(m->missing, m->room, sizeof(*m->missing));
    m->free_next = mem_regrow(m->free_next, m->room, sizeof(*m->free_next));
}

static uint32_t unused_mask(MemValidMasks *m) {
    if (m->free != MEM_NO_MASK) {
        uint32_t mask = m->free;
        m->free = m->free_next[mask - 1];
        return mask;
    }
    if (m->used == m->most) {
        return MEM_NO_MASK;
    }
    if (m->used == m->room) {
        grow(m);
    }
    return ++m->used;
}

uint32_t mem_masks_take(MemValidMasks *m) {
    uint32_t mask = unused_mask(m);

    if (mask != MEM_NO_MASK) {
        memset(m->lines + (size_t)(mask - 1) * m->page_lines, 0, m->page_lines * sizeof(*m->lines));
        m->count++;
        m->missing[mask - 1] = m->page_lines * MEMSYS_LINE_BYTES;
    }
    return mask;
}

void mem_masks_free(MemValidMasks *m, uint32_t mask) {
    assert(mask != MEM_NO_MASK && mask <= m->used);
    m->count--;
    m->free_next[mask - 1] = m->free;
    m->free = mask;
}

bool mem_masks_add(MemValidMasks *m, uint32_t mask, uint32_t line, uint64_t bytes) {
    uint64_t *valid = &m->lines[(size_t)(mask - 1) * m->page_lines + line];

    m->missing[mask - 1] -= (uint32_t)__builtin_popcountll(bytes & ~*valid);
    *valid |= bytes;
    return m->missing[mask - 1] == 0;
}
