/* SPDX-License-Identifier: BSD-3-Clause */
/* The public calls, and the function that instrumented code calls. */
#define _GNU_SOURCE
#include "regions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "announce.h"
#include "base/epochs.h"
#include "base/tracker.h"
#include "protocol/lines.h"

static __attribute__((preserve_most, noinline)) void log_slowly(const void *address, size_t bytes) {
    snapshot_log_range(address, bytes);
}

/*
 * Called by instrumented code. The most frequent case is a store within one line of the first file that the thread's
 * log lists already: it needs no further call. Keeping all registers makes the call free for code that does not take
 * it.
 */
__attribute__((preserve_most)) void __snapshot_log(const void *address, size_t bytes) {
    const struct region *first = &regions[0];
    const struct thread_slot *slot = &thread_slots[0];
    uint64_t length = __atomic_load_n(&first->mapped_bytes, __ATOMIC_ACQUIRE); /* in the order of region_find() */
    uint64_t offset = (uint64_t)address - (uint64_t)__atomic_load_n(&first->working, __ATOMIC_ACQUIRE);
    bool in_one_line = offset < length && offset % LINE_BYTES + bytes <= LINE_BYTES &&
                       slot->generation == __atomic_load_n(&first->generation, __ATOMIC_RELAXED);
    const _Atomic uint8_t *state = first->line_states + offset / LINE_BYTES;
    if (!in_one_line || atomic_load_explicit(state, memory_order_acquire) != slot->tag)
        log_slowly(address, bytes);
}

/* Replaces the function above when only the costs of guards are of interest. */
__attribute__((preserve_most)) void __snapshot_noop(const void *address, size_t bytes) {
    (void)address;
    (void)bytes;
}

/* Bytes behind the end of the file are not kept. */
static void announce_kept(struct thread_log *thread, uint64_t offset, uint64_t bytes) {
    struct region *region = thread->region;
    uint64_t room = offset < region->bytes ? region->bytes - offset : 0;
    uint64_t kept = bytes < room ? bytes : room;
    if (kept == 0)
        return;
    tracker_admit(region, offset, kept);
    announce(thread, offset, kept);
}

static inline __attribute__((always_inline)) void log_range_of(struct region *region, const void *address,
                                                               size_t bytes) {
    if (region->inherited)
        return;
    struct thread_log *thread = announce_begin(region);
    announce_kept(thread, (uint64_t)((const uint8_t *)address - region->working), bytes);
    announce_end(thread);
}

/* Most programs have one file, so that one is looked at first. */
void snapshot_log_range(const void *address, size_t bytes) {
    struct region *first = &regions[0];
    if (region_has(first, address, &first->mapped_bytes)) {
        log_range_of(first, address, bytes);
        return;
    }
    struct region *region = region_find(address);
    if (region)
        log_range_of(region, address, bytes);
}

/* Give a file that was opened just now its size, and blocks if the caller wants them. Called with the lock of all
 * files, as the opening: no other thread uses the file yet. */
static int size_and_blocks(struct region *region, const struct open_request *request, size_t bytes) {
    int status = 0;
    if (bytes > region->bytes)
        status = region_resize(region, request->fd, bytes);
    if (status == 0 && request->flags & SNAPSHOT_POPULATE)
        status = -posix_fallocate(request->fd, 0, (off_t)region->bytes);
    return status;
}

/* Called with the lock of all files: until the file has its mapping, no other thread maps and unmaps it. */
static int map_opened(const struct open_request *request, size_t bytes, struct region **region) {
    struct stat status;
    if (fstat(request->fd, &status) < 0)
        return -errno;
    if (bytes == 0 && status.st_size == 0)
        return -EINVAL;
    int result = region_open_making_room(request, region);
    if (result < 0)
        return result;
    result = size_and_blocks(*region, request, bytes);
    if (result < 0) {
        region_close(*region);
        return result;
    }
    if (request->flags & SNAPSHOT_POPULATE)
        region_populate(*region);
    return mapping_add(*region, 0, (*region)->mapped_bytes);
}

int snapshot_map(const char *path, size_t bytes, unsigned flags, void *hint, void **address) {
    struct region *region = NULL;
    char real[PATH_MAX];
    /* The interposed open() would recover the file first, but mapping it does that, once. */
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    struct open_request request = {.fd = fd, .path = real, .flags = flags, .hint = hint, .room_bytes = bytes};
    /* The log lies beside the file, not beside a link to it: another opening would not find it there. */
    int result = realpath(path, real) ? 0 : -errno;
    regions_lock();
    if (result == 0)
        result = map_opened(&request, bytes, &region);
    regions_unlock();
    if (result < 0) {
        close(fd);
        return result;
    }
    region->data_fd = fd;
    *address = region->working;
    return 0;
}

int snapshot_resize(void *address, size_t bytes) {
    struct region *region = region_find(address);
    if (!region || bytes == 0)
        return -EINVAL;
    if (region->inherited)
        return -EPERM;
    if (region->data_fd < 0)
        return -EBADF;
    contents_take(region);
    int status = region_resize(region, region->data_fd, bytes);
    contents_release(region);
    return status;
}

int snapshot_sync(void *address) {
    struct region *region = region_find(address);
    return region ? region_msync(region, COMMIT_DURABLE) : -EINVAL;
}

int snapshot_rollback(void *address) {
    struct region *region = region_find(address);
    return region ? region_invalidate(region) : -EINVAL;
}

int snapshot_unmap(void *address) {
    struct region *region = region_find(address);
    if (!region || region->mapping_count == 0)
        return -EINVAL;
    check_discard(region, "it is unmapped");
    return region_close(region);
}

int snapshot_get_stats(const void *address, struct snapshot_stats *stats) {
    struct region *region = region_find(address);
    if (!region)
        return -EINVAL;
    pthread_mutex_lock(&region->mutex); /* commits update the numbers under this mutex */
    *stats = region->stats;
    for_each_thread (thread, region) {
        stats->log_bytes += thread->counted.log_bytes;
        stats->data_bytes += thread->counted.data_bytes;
        stats->lines_logged += thread->counted.lines_logged;
        stats->fences += thread->counted.fences;
    }
    region_unlock(region);
    stats->log_file_bytes = __atomic_load_n(&region->log.bytes, __ATOMIC_RELAXED); /* stores may grow the log, too */
    epochs_count(region, stats);
    return 0;
}
