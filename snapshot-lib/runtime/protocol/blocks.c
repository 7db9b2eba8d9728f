/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log blocks. A thread fills a block in DRAM and streams it to chunks of its own in the log file, where recovery finds
 * it.
 */
#include "blocks.h"

#include <errno.h>
#include <string.h>
#include <sys/single_threaded.h>

#include "log/hash.h"
#include "log/log_file.h"
#include "log/persist.h"

void block_seal(struct block *block, uint64_t epoch, uint32_t sequence) {
    block->header.epoch = epoch;
    block->header.sequence = (uint16_t)sequence;
    block->header.checksum = block_checksum(&block->header, block->data);
}

void block_write(uint8_t *place, const struct block *block) {
    size_t bytes = block_bytes(block->header.line_count);
    persist_copy(place, block, bytes);
}

static int chunk_take(struct thread_log *thread) {
    struct region *region = thread->region;
    uint32_t sets = region->protocol->sets;
    uint64_t index = atomic_load(&region->protocol_state.chunk_next);
    uint64_t offset;
    do {
        offset = log_chunk_offset(sets, region->epoch, index);
        if (log_file_grow(region, sets * (index + 1)) < 0)
            return -ENOSPC;
    } while (!atomic_compare_exchange_weak(&region->protocol_state.chunk_next, &index, index + 1));
    vector_push_word(&thread->chunks, offset);
    thread->chunk = region->log.base + offset;
    thread->chunk_end = thread->chunk + CHUNK_BYTES;
    thread->sequence = 0;
    return 0;
}

static int block_stream(struct thread_log *thread, struct block *block) {
    size_t bytes = block_bytes(block->header.line_count);
    if (!thread->chunk || thread->chunk + bytes > thread->chunk_end)
        if (chunk_take(thread) < 0)
            return -ENOSPC;
    block_seal(block, thread->region->epoch, thread->sequence++);
    block_write(thread->chunk, block);
    thread->chunk += bytes;
    thread->counts.log_bytes += bytes;
    return 0;
}

/* Stream the block and empty it. If earlier blocks wait or the log has no space, keep a copy instead; the commit tries
 * again and reports -ENOSPC. */
static void block_stream_or_keep(struct thread_log *thread) {
    if (thread->waiting.count > 0 || block_stream(thread, &thread->block) < 0) {
        *(struct block *)vector_place(&thread->waiting, sizeof(struct block)) = thread->block;
        vector_add(&thread->waiting);
    }
    thread->block.header.line_count = 0;
    thread->block_words = 0;
}

/* A fence waits only for the writes of its own thread, so another thread that commits could not wait for this block:
 * fence it here. A program's only thread leaves the block to its next fence. */
void thread_block_end(struct thread_log *thread) {
    block_stream_or_keep(thread);
    if (__libc_single_threaded)
        thread->region->lone_writes = true;
    if (__libc_single_threaded)
        return;
    persist_fence();
    thread->counts.fences++;
}

/* Write the thread's logged blocks that are not in the log file yet. */
static int thread_log_write(struct thread_log *thread) {
    if (thread->block.header.line_count > 0)
        block_stream_or_keep(thread);
    struct block *waiting = thread->waiting.items;
    for (size_t i = 0; i < thread->waiting.count; i++)
        if (block_stream(thread, &waiting[i]) < 0) {
            memmove(waiting, waiting + i, (thread->waiting.count - i) * sizeof(*waiting));
            thread->waiting.count -= i;
            return -ENOSPC;
        }
    thread->waiting.count = 0;
    return 0;
}

/* On -ENOSPC, fence the blocks written so far: another thread may try again, and its fence does not wait for these
 * writes. */
int thread_logs_write(struct region *region) {
    int status = region_each_log(region, thread_log_write);
    if (status < 0)
        region_fence(region);
    return status;
}

void thread_logs_forget(struct region *region) {
    for_each_thread (thread, region) {
        thread->block.header.line_count = 0;
        thread->block_words = 0;
        thread->waiting.count = 0;
    }
}

static bool block_is_valid(const struct block *block, uint64_t epoch, uint32_t sequence, uint64_t room_bytes) {
    const struct block_header *header = &block->header;
    if (room_bytes < block_bytes(1) || header->epoch != epoch || header->sequence != sequence)
        return false;
    if (header->line_count == 0 || header->line_count > BLOCK_LINES_MAX || block_bytes(header->line_count) > room_bytes)
        return false;
    return header->checksum == block_checksum(header, block->data);
}

uint64_t log_walk_chunk(struct log_view log, uint64_t offset, uint64_t epoch, block_visitor *visit, void *context) {
    uint64_t end = offset + CHUNK_BYTES, lines = 0;
    for (uint32_t sequence = 0;; sequence++) {
        const struct block *block = (const void *)(log.base + offset);
        if (!block_is_valid(block, epoch, sequence, end - offset))
            return lines;
        if (visit)
            visit(context, block);
        lines += block->header.line_count;
        offset += block_bytes(block->header.line_count);
    }
}

uint64_t log_walk(struct log_view log, uint32_t sets, uint64_t epoch, block_visitor *visit, void *context) {
    uint64_t chunks = log_chunk_count(log.bytes), lines = 0;
    for (uint64_t chunk = epoch % sets; chunk < chunks; chunk += sets)
        lines += log_walk_chunk(log, LOG_CHUNKS_OFFSET + chunk * CHUNK_BYTES, epoch, visit, context);
    return lines;
}
