/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host-managed device memory: maps a line of the host to a device and a line of that device. */
#include "memory_internal.h"

#include "../base/interleave.h"

void mem_memory_map_window(MemMemory *m, uint32_t index, const MemWindow *window) {
    assert(index < MEMSYS_MAX_WINDOWS && window->ways >= 1 && window->ways <= MEMSYS_MAX_WAYS);
    assert((window->hpa | window->dpa | window->size_bytes) % MEMSYS_LINE_BYTES == 0);
    for (uint32_t i = 0; window->size_bytes && i < window->ways; i++) {
        uint64_t end_line = (window->dpa + window->size_bytes / window->ways) / MEMSYS_LINE_BYTES;
        assert(window->devices[i] < m->device_count && end_line <= m->devices[window->devices[i]]->line_count);
    }
    m->windows[index] = *window;
    m->window_count = 0;
    for (uint32_t i = 0; i < MEMSYS_MAX_WINDOWS; i++) {
        m->window_count = m->windows[i].size_bytes ? i + 1 : m->window_count;
    }
}

MemDevice *mem_memory_route(const MemMemory *m, uint64_t line, uint64_t *device_line) {
    uint64_t hpa = line * MEMSYS_LINE_BYTES;
    const MemWindow *w = mem_memory_window(m, hpa);

    if (!w) {
        return NULL;
    }
    MemInterleaved place = mem_interleave(hpa - w->hpa, w->ways, w->granularity_bytes);
    *device_line = (w->dpa + place.offset_bytes) / MEMSYS_LINE_BYTES;
    return m->devices[w->devices[place.way]];
}
