/* SPDX-License-Identifier: BSD-3-Clause */
#include "lists.h"

#include "blocks.h"
#include "lines.h"

static bool is_first_held(const struct thread_log *thread) {
    for_each_thread (other, thread->region)
        if (other->held)
            return other == thread;
    return false;
}

const struct vector *list_of(const struct thread_log *thread) {
    static const struct vector nothing;
    if (!thread->held)
        return &thread->changes;
    return is_first_held(thread) ? &thread->region->held.lines : &nothing;
}

static void next_chunk(struct list_place *place) {
    place->chunk++;
    place->offset = place->sequence = 0;
}

/* Advance `place` by `blocks` blocks of this size. A block does not cross the end of a chunk. */
static void place_skip(struct list_place *place, uint64_t blocks, uint32_t bytes) {
    while (blocks > 0) {
        uint64_t room = (CHUNK_BYTES - place->offset) / bytes, taken = blocks < room ? blocks : room;
        place->offset += (uint32_t)taken * bytes;
        place->sequence += (uint32_t)taken;
        blocks -= taken;
        if (blocks > 0)
            next_chunk(place);
    }
}

/* Advance `place` by a list of so many lines, whose last block may be shorter. */
static void place_skip_list(struct list_place *place, uint64_t lines) {
    uint64_t full = lines / BLOCK_LINES_MAX, rest = lines % BLOCK_LINES_MAX, blocks = full + (rest > 0);
    uint64_t end = place->offset + (blocks + lines) * LINE_BYTES;
    if (end <= CHUNK_BYTES) {
        place->offset = (uint32_t)end;
        place->sequence += (uint32_t)blocks;
        return;
    }
    place_skip(place, full, sizeof(struct block));
    if (rest > 0)
        place_skip(place, 1, (uint32_t)block_bytes(rest));
}

uint64_t lists_assign(struct region *region, uint64_t lines) {
    struct list_place place = {.epoch = region->epoch, .epoch_lines = (uint32_t)lines};
    for_each_thread (thread, region) {
        thread->place = place;
        place_skip_list(&place, list_of(thread)->count);
    }
    return place.chunk + 1;
}

static void list_flush(struct thread_log *thread, uint32_t sets) {
    struct list_place *place = &thread->place;
    uint32_t bytes = (uint32_t)block_bytes(thread->block.header.line_count);
    if (place->offset + bytes > CHUNK_BYTES)
        next_chunk(place);
    block_seal(&thread->block, place->epoch, place->sequence++);
    uint64_t chunk = log_chunk_offset(sets, place->epoch, place->chunk);
    block_write(thread->region->log.base + chunk + place->offset, &thread->block);
    place->offset += bytes;
    thread->counts.log_bytes += bytes;
    thread->block.header.line_count = 0;
}

static void content_take(const struct thread_log *thread, uint64_t line, void *to) {
    if (thread->held)
        memcpy(to, held_content(thread->region, line), LINE_BYTES);
    else
        line_take(thread->region, line, to);
}

void list_write(struct thread_log *thread, uint32_t sets) {
    struct block *block = &thread->block;
    const struct vector *lines = list_of(thread);
    block->header.epoch_lines = thread->place.epoch_lines;
    for_each_word (line, lines) {
        content_take(thread, line, block->data[block->header.line_count]);
        block->header.lines[block->header.line_count++] = (uint32_t)line;
        if (block->header.line_count == BLOCK_LINES_MAX)
            list_flush(thread, sets);
    }
    if (block->header.line_count > 0)
        list_flush(thread, sets);
    thread->counts.lines_logged += lines->count;
}
