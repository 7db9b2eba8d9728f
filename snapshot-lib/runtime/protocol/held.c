/* SPDX-License-Identifier: BSD-3-Clause */
#include "held.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/arena.h"

/* The map takes memory only where lines are held. Abort without it: a commit needs the map as much as its lists. */
static void place_map(struct region *region) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint64_t bytes = region->span_bytes / LINE_BYTES * sizeof(uint32_t);
    void *place = kernel_mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (place == MAP_FAILED)
        abort();
    region->held.place = place;
    region->held.place_bytes = bytes;
}

bool held_add(struct region *region, uint64_t line) {
    struct held *held = &region->held;
    if (!held->place)
        place_map(region);
    if (held->place[line])
        return false;
    vector_push_word(&held->lines, line);
    line_copy(vector_place(&held->contents, LINE_BYTES), region->working + line * LINE_BYTES);
    vector_add(&held->contents);
    held->place[line] = (uint32_t)held->lines.count;
    return true;
}

void held_clear(struct region *region) {
    for_each_held(line, region) region->held.place[line] = 0;
    region->held.lines.count = region->held.contents.count = 0;
}

void held_free(struct region *region) {
    struct held *held = &region->held;
    vector_free(&held->lines);
    vector_free(&held->contents);
    if (held->place)
        kernel_munmap(held->place, held->place_bytes);
    *held = (struct held){0};
}
