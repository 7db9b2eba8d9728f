/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wc_buffers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../base/mem_alloc.h"

void mem_wc_init(MemWc *w, uint32_t count) {
    *w = (MemWc){.buffers = mem_calloc(count, sizeof(*w->buffers)), .count = count};
}

void mem_wc_destroy(MemWc *w) { free(w->buffers); }

uint32_t mem_wc_find(const MemWc *w, uint64_t line) {
    for (uint32_t i = 0; w->open_count && i < w->count; i++) {
        if (w->buffers[i].open && w->buffers[i].line == line) {
            return i;
        }
    }
    return MEM_NO_BUFFER;
}

uint32_t mem_wc_oldest(const MemWc *w) {
    uint32_t oldest = MEM_NO_BUFFER;
    for (uint32_t i = 0; i < w->count; i++) {
        const MemWcBuffer *b = &w->buffers[i];
        if (b->open && (oldest == MEM_NO_BUFFER || b->opened < w->buffers[oldest].opened)) {
            oldest = i;
        }
    }
    return oldest;
}

uint32_t mem_wc_open(MemWc *w, uint64_t line) {
    uint32_t buffer = 0;

    assert(w->open_count < w->count);
    while (w->buffers[buffer].open) {
        buffer++;
    }
    w->buffers[buffer] = (MemWcBuffer){.line = line, .opened = w->openings++, .open = true};
    w->open_count++;
    return buffer;
}

bool mem_wc_fill(MemWc *w, uint32_t buffer, uint32_t offset_bytes, uint32_t size_bytes) {
    assert(size_bytes > 0 && offset_bytes + size_bytes <= MEMSYS_LINE_BYTES);
    w->buffers[buffer].written |= (UINT64_MAX >> (MEMSYS_LINE_BYTES - size_bytes)) << offset_bytes;
    return w->buffers[buffer].written == UINT64_MAX;
}

void mem_wc_sent(MemWc *w, uint32_t buffer) {
    assert(w->buffers[buffer].open);
    w->buffers[buffer].open = false;
    w->open_count--;
}

void mem_wc_clear(MemWc *w) {
    memset(w->buffers, 0, w->count * sizeof(*w->buffers));
    w->open_count = 0;
}
