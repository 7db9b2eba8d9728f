/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "directory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../base/mem_alloc.h"
#include "../base/mem_hash.h"

void mem_directory_init(MemDirectory *d, uint64_t lines) {
    uint64_t room = 64;
    unsigned bits = 6;

    while (room < 2 * lines) { /* half of the places stay free, so that searches are short */
        room *= 2;
        bits++;
    }
    *d = (MemDirectory){.mask = room - 1, .shift = 64 - bits};
    d->places = mem_calloc(room, sizeof(*d->places));
    mem_directory_clear(d);
}

void mem_directory_destroy(MemDirectory *d) { free(d->places); }

void mem_directory_clear(MemDirectory *d) {
    for (uint64_t i = 0; d->places && i <= d->mask; i++) {
        d->places[i] = (MemHolders){.line = MEM_NO_LINE};
    }
    d->count = 0;
}

static uint64_t home_of(const MemDirectory *d, uint64_t line) { return mem_hash(line, d->shift); }

/* The place of the line, or the free place where it would go. */
static uint64_t find(const MemDirectory *d, uint64_t line) {
    uint64_t at = home_of(d, line);

    while (d->places[at].line != line && d->places[at].line != MEM_NO_LINE) {
        at = (at + 1) & d->mask;
    }
    return at;
}

uint32_t mem_directory_holders(const MemDirectory *d, uint64_t line) { return d->places[find(d, line)].cores; }

void mem_directory_add(MemDirectory *d, uint64_t line, uint32_t core) {
    MemHolders *h = &d->places[find(d, line)];

    h->line = line;
    d->count += !(h->cores >> core & 1);
    h->cores |= UINT32_C(1) << core;
}

/* Free a place. Entries behind it that would have gone here, had it been free, move up. */
static void free_place(MemDirectory *d, uint64_t hole) {
    for (uint64_t at = (hole + 1) & d->mask; d->places[at].line != MEM_NO_LINE; at = (at + 1) & d->mask) {
        uint64_t home = home_of(d, d->places[at].line);
        if (((at - home) & d->mask) >= ((at - hole) & d->mask)) {
            d->places[hole] = d->places[at];
            hole = at;
        }
    }
    d->places[hole] = (MemHolders){.line = MEM_NO_LINE};
}

void mem_directory_remove(MemDirectory *d, uint64_t line, uint32_t core) {
    uint64_t at = find(d, line);
    MemHolders *h = &d->places[at];

    if (!(h->cores >> core & 1)) {
        return;
    }
    d->count--;
    h->cores &= ~(UINT32_C(1) << core);
    if (!h->cores) {
        free_place(d, at);
    }
}
