/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The slow path of a tracked store: before a line of the working copy changes for the first time in an epoch, its old
 * content goes to the thread's undo log. Nothing is fenced here; that is the commit's business.
 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>

#include "hash.h"
#include "persist.h"

#define DIRTY_CAPACITY_INITIAL 4096u

struct thread_slot {
    struct thread_log *log;
    uint64_t generation;
};

static _Thread_local struct thread_slot thread_slots[REGIONS_MAX];
extern struct region regions[REGIONS_MAX];

/* At the end of a thread: another may take its log over, with whatever it still holds for the next commit. */
static void thread_end(void *unused) {
    (void)unused;
    for (size_t i = 0; i < REGIONS_MAX; i++) {
        struct thread_slot *slot = &thread_slots[i];
        if (slot->log && regions[i].in_use && regions[i].generation == slot->generation)
            atomic_store(&slot->log->in_use, false);
        slot->log = NULL;
    }
}

static pthread_key_t thread_end_key;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;

static void thread_end_register(void) { (void)pthread_key_create(&thread_end_key, thread_end); }

/* Memory from the kernel: a tracked store may stand inside an allocator. */
static void *map_memory(size_t bytes) {
    void *memory = kernel_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort(); /* a store cannot report an error, and untracked it would be lost silently */
    return memory;
}

static struct thread_log *thread_log_create(struct region *region) {
    struct thread_log *thread = map_memory(sizeof(*thread));
    thread->region = region;
    atomic_store(&thread->in_use, true);
    thread->dirty_capacity = DIRTY_CAPACITY_INITIAL;
    thread->dirty = map_memory(thread->dirty_capacity * sizeof(uint32_t));
    thread->next = atomic_load(&region->threads);
    while (!atomic_compare_exchange_weak(&region->threads, &thread->next, thread))
        ;
    return thread;
}

static struct thread_log *thread_log_adopt(struct region *region) {
    for (struct thread_log *thread = atomic_load(&region->threads); thread; thread = thread->next) {
        bool expected = false;
        if (atomic_compare_exchange_strong(&thread->in_use, &expected, true))
            return thread;
    }
    return NULL;
}

static struct thread_log *thread_log_get(struct region *region) {
    struct thread_slot *slot = &thread_slots[region - regions];
    if (slot->log && slot->generation == region->generation)
        return slot->log;
    pthread_once(&thread_end_once, thread_end_register);
    pthread_setspecific(thread_end_key, slot);
    slot->log = thread_log_adopt(region);
    if (!slot->log)
        slot->log = thread_log_create(region);
    slot->generation = region->generation;
    return slot->log;
}

static void dirty_push(struct thread_log *thread, uint32_t line) {
    if (thread->dirty_count == thread->dirty_capacity) {
        size_t bytes = thread->dirty_capacity * sizeof(uint32_t);
        uint32_t *larger = map_memory(2 * bytes);
        memcpy(larger, thread->dirty, bytes);
        kernel_munmap(thread->dirty, bytes);
        thread->dirty = larger;
        thread->dirty_capacity *= 2;
    }
    thread->dirty[thread->dirty_count++] = line;
}

static int chunk_take(struct thread_log *thread) {
    struct region *region = thread->region;
    uint64_t index = atomic_load(&region->chunk_next);
    uint64_t offset;
    do {
        offset = log_chunk_offset(region->epoch, index);
        if (offset + CHUNK_BYTES > region->log.bytes && log_file_grow(region, 2 * index + 2) < 0)
            return -ENOSPC;
    } while (!atomic_compare_exchange_weak(&region->chunk_next, &index, index + 1));
    thread->chunk = region->log.base + offset;
    thread->chunk_end = thread->chunk + CHUNK_BYTES;
    thread->sequence = 0;
    return 0;
}

/* Write the block out and begin a new one. On -ENOSPC the block is dropped: its old content is still in the file. */
static int block_stream(struct thread_log *thread) {
    struct block *block = &thread->block;
    uint32_t line_count = block->header.line_count;
    size_t bytes = block_bytes(line_count);
    block->header.line_count = 0;
    if (!thread->chunk || thread->chunk + bytes > thread->chunk_end)
        if (chunk_take(thread) < 0)
            return -ENOSPC;
    block->header.line_count = line_count;
    block->header.epoch = thread->region->epoch;
    block->header.sequence = thread->sequence++;
    block->header.checksum = block_checksum(&block->header, block->data);
#ifdef SNAPSHOT_SEEDED_BUG_NO_LOG_FLUSH
    memcpy(thread->chunk, block, bytes); /* stays in the CPU's caches until they happen to evict it */
#else
    persist_copy(thread->chunk, block, bytes);
#endif
    thread->chunk += bytes;
    thread->durable_count += line_count;
    thread->log_bytes += bytes;
    block->header.line_count = 0;
    return 0;
}

static void block_add(struct thread_log *thread, uint32_t line, const uint8_t *old_content) {
    struct block *block = &thread->block;
    memcpy(block->data[block->header.line_count], old_content, LINE_BYTES);
    block->header.lines[block->header.line_count++] = line;
}

/* True for the one thread that has to log the line; the others return when it is logged. */
static bool line_claim(_Atomic uint8_t *state) {
    uint8_t seen = LINE_CLEAN;
    if (__libc_single_threaded)
        return true;
    if (atomic_compare_exchange_strong(state, &seen, LINE_BUSY))
        return true;
    while (atomic_load_explicit(state, memory_order_acquire) != LINE_DIRTY)
        __builtin_ia32_pause();
    return false;
}

static __attribute__((noinline)) void line_log(struct region *region, uint32_t line) {
    _Atomic uint8_t *state = &region->line_states[line];
    if (!line_claim(state))
        return;
    struct thread_log *thread = thread_log_get(region);
    block_add(thread, line, region->working + (uint64_t)line * LINE_BYTES);
    dirty_push(thread, line);
    if (thread->block.header.line_count == BLOCK_LINES_MAX)
        (void)block_stream(thread); /* out of space is the commit's to report */
    atomic_store_explicit(state, LINE_DIRTY, memory_order_release);
}

void log_range(struct region *region, uint64_t offset, uint64_t bytes) {
    if (bytes == 0)
        return;
    uint64_t end = bytes > region->mapped_bytes - offset ? region->mapped_bytes : offset + bytes;
    for (uint64_t line = offset / LINE_BYTES; line <= (end - 1) / LINE_BYTES; line++)
        if (atomic_load_explicit(&region->line_states[line], memory_order_acquire) != LINE_DIRTY)
            line_log(region, (uint32_t)line);
}

/*
 * Bring everything the thread has logged into the log file. If blocks were dropped for want of space, their lines are
 * logged again from the file, which has the old content until the commit.
 */
int thread_log_finish(struct thread_log *thread) {
    uint32_t pending = thread->block.header.line_count;
    if (thread->durable_count + pending == thread->dirty_count)
        return pending ? block_stream(thread) : 0;
    thread->block.header.line_count = 0;
    while (thread->durable_count < thread->dirty_count) {
        size_t rest = thread->dirty_count - thread->durable_count;
        for (size_t i = 0; i < rest && i < BLOCK_LINES_MAX; i++) {
            uint32_t line = thread->dirty[thread->durable_count + i];
            block_add(thread, line, thread->region->backing + (uint64_t)line * LINE_BYTES);
        }
        if (block_stream(thread) < 0)
            return -ENOSPC;
    }
    return 0;
}

/* After a commit: nothing is dirty, and the next epoch starts at its first chunk. */
void thread_logs_reset(struct region *region) {
    for (struct thread_log *thread = atomic_load(&region->threads); thread; thread = thread->next) {
        for (size_t i = 0; i < thread->dirty_count; i++)
            atomic_store_explicit(&region->line_states[thread->dirty[i]], LINE_CLEAN, memory_order_relaxed);
        thread->dirty_count = 0;
        thread->durable_count = 0;
        thread->log_bytes = 0;
        thread->chunk = NULL;
    }
    atomic_store(&region->chunk_next, 0);
}

void thread_logs_free(struct region *region) {
    struct thread_log *thread = atomic_exchange(&region->threads, NULL);
    while (thread) {
        struct thread_log *next = thread->next;
        kernel_munmap(thread->dirty, thread->dirty_capacity * sizeof(uint32_t));
        kernel_munmap(thread, sizeof(*thread));
        thread = next;
    }
}
