/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host-managed device memory: which device, and which of its lines, a line of the host is. */
#include "memory_internal.h"

#include "../base/seeded_bug.h"

void mem_memory_map_window(MemMemory *m, uint32_t index, const MemWindow *window) {
    assert(index < MEMSYS_MAX_WINDOWS && window->ways >= 1 && window->ways <= MEMSYS_MAX_WAYS);
    MemMapping *map = &m->windows[index];

    *map = (MemMapping){
        .first = window->hpa / MEMSYS_LINE_BYTES,
        .count = window->size_bytes / MEMSYS_LINE_BYTES,
        .device_first = window->dpa / MEMSYS_LINE_BYTES,
        .ways = window->ways,
        .piece_lines = window->granularity_bytes / MEMSYS_LINE_BYTES,
    };
    for (uint32_t i = 0; map->count && i < window->ways; i++) {
        assert(window->devices[i] < m->device_count);
        map->devices[i] = m->devices[window->devices[i]];
        assert(map->device_first + map->count / map->ways <= map->devices[i]->line_count);
    }
    m->window_count = 0;
    for (uint32_t i = 0; i < MEMSYS_MAX_WINDOWS; i++) {
        m->window_count = m->windows[i].count ? i + 1 : m->window_count;
    }
}

MemDevice *mem_memory_route(const MemMemory *m, uint64_t line, uint64_t *device_line) {
    for (uint32_t i = 0; i < m->window_count; i++) {
        const MemMapping *map = &m->windows[i];
        uint64_t offset = line - map->first;
        if (offset >= map->count) {
            continue;
        }
        if (map->ways == 1) {
            *device_line = map->device_first + offset;
            return map->devices[0];
        }
        uint64_t piece = offset / map->piece_lines;
        *device_line = map->device_first + piece / map->ways * map->piece_lines + offset % map->piece_lines;
        return map->devices[MEM_HAS_BUG(MEM_BUG_ONE_WAY) ? 0 : piece % map->ways];
    }
    return NULL;
}
