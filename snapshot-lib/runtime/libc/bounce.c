/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "bounce.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "core/regions.h"
#include "log/thread_log.h"

void *aside_map(size_t bytes) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *memory = kernel_mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void aside_unmap(void *memory, size_t bytes) { kernel_munmap(memory, bytes); }

void store_tracked(void *target, const void *from, size_t bytes) {
    writes(target, bytes);
    memcpy(target, from, bytes);
}

static bool is_small(const struct bounce *bounce) { return bounce->bytes <= BOUNCE_SMALL_BYTES; }

/* A limit may be larger than any memory, for example with >> to an array. */
static size_t mapped_part(const void *target, size_t bytes) {
    const struct region *region = region_find(target);
    uint64_t offset = region ? (uint64_t)((const uint8_t *)target - region->working) : 0;
    uint64_t room = region ? region->mapped_bytes - offset : 0;
    return bytes < room ? bytes : room;
}

/*
 * Returns the memory to which the call writes: a copy. If no memory is free for a copy, the target is announced now
 * and the call writes to it, as if it did not wait.
 */
void *bounce_begin(struct bounce *bounce, void *target, size_t bytes, bool stores_changes) {
    bounce->bytes = stores_changes ? mapped_part(target, bytes) : bytes;
    bounce->written = 0;
    bounce->item_bytes = bounce->bytes;
    bounce->stores_changes = stores_changes;
    bounce->copy = NULL;
    bounce->target = NULL;
    if (bounce->bytes > 0 && bounce->bytes <= SIZE_MAX / 4)
        bounce->copy = is_small(bounce) ? bounce->small : aside_map(2 * bounce->bytes);
    if (!bounce->copy) {
        writes(target, bytes);
        return target;
    }
    if (stores_changes) {
        memcpy(bounce->copy, target, bounce->bytes);
        memcpy(bounce->copy + bounce->bytes, bounce->copy, bounce->bytes); /* other threads may change the target */
    }
    bounce->target = target;
    return bounce->copy;
}

/* Stores the bytes from the first change to the last: the call was free to write all bytes between. */
static void changes_store(const struct bounce *bounce, size_t begin, size_t end) {
    const uint8_t *now = bounce->copy, *before = bounce->copy + bounce->bytes;
    while (begin < end && now[begin] == before[begin])
        begin++;
    while (end > begin && now[end - 1] == before[end - 1])
        end--;
    if (begin < end)
        store_tracked(bounce->target + begin, now + begin, end - begin);
}

static void items_store(const struct bounce *bounce) {
    for (size_t begin = 0, end; begin < bounce->bytes; begin = end) {
        size_t left = bounce->bytes - begin;
        end = begin + (left < bounce->item_bytes ? left : bounce->item_bytes);
        changes_store(bounce, begin, end);
    }
}

void bounce_land(struct bounce *bounce) {
    int error = errno;
    if (bounce->stores_changes)
        items_store(bounce);
    else if (bounce->written > 0)
        store_tracked(bounce->target, bounce->copy, bounce->written < bounce->bytes ? bounce->written : bounce->bytes);
    if (!is_small(bounce))
        aside_unmap(bounce->copy, 2 * bounce->bytes);
    errno = error;
}

void keep_begin(struct kept *kept, const void *address, size_t bytes) {
    *kept = (struct kept){.address = address, .bytes = bytes};
    if (!tracked(address))
        return;
    kept->region = region_find(address);
    kept->epoch = kept->region ? kept->region->epoch : 0;
    writes(address, bytes);
}

/* The callback may have left: the next commit of another thread would then not hold the range. */
static bool is_kept(const struct kept *kept) {
    return kept->region->epoch == kept->epoch && thread_is_inside(kept->region);
}

void keep_again(struct kept *kept) {
    if (kept->region && !is_kept(kept)) {
        kept->epoch = kept->region->epoch;
        writes(kept->address, kept->bytes);
    }
}

void lock_announce(const void *lock, size_t bytes) {
    thread_rests();
    writes(lock, bytes);
}
