/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracked files: opening (recover, then fill the working copy), finding by address, closing; and the public calls. */
#define _GNU_SOURCE
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct region regions[REGIONS_MAX];
static uint64_t generation_last;
static pthread_mutex_t regions_mutex = PTHREAD_MUTEX_INITIALIZER;

struct region *region_find(const void *address) {
    for (size_t i = 0; i < REGIONS_MAX; i++)
        if (regions[i].in_use && (uintptr_t)address - (uintptr_t)regions[i].working < regions[i].mapped_bytes)
            return &regions[i];
    return NULL;
}

static __attribute__((preserve_most, noinline)) void log_slowly(const void *address, size_t bytes) {
    snapshot_log_range(address, bytes);
}

/*
 * Called by instrumented code. A store within one line of the first file that was logged already, the most frequent
 * case, needs no further call; keeping all registers makes the call free for code that does not take it.
 */
__attribute__((preserve_most)) void __snapshot_log(const void *address, size_t bytes) {
    const struct region *first = &regions[0];
    uint64_t offset = (uint64_t)((uintptr_t)address - (uintptr_t)first->working);
    bool in_one_line = offset < first->mapped_bytes && offset % LINE_BYTES + bytes <= LINE_BYTES && first->in_use;
    const _Atomic uint8_t *state = first->line_states + offset / LINE_BYTES;
    if (!in_one_line || atomic_load_explicit(state, memory_order_acquire) != LINE_DIRTY)
        log_slowly(address, bytes);
}

/* Read only what was ever written: pages of a hole are zero in the working copy already. */
static int working_fill(struct region *region, int data_fd) {
    off_t end = (off_t)region->bytes;
    off_t begin = lseek(data_fd, 0, SEEK_DATA);
    while (begin >= 0 && begin < end) {
        off_t hole = lseek(data_fd, begin, SEEK_HOLE);
        if (hole < 0 || hole > end)
            hole = end;
        while (begin < hole) {
            ssize_t got = pread(data_fd, region->working + begin, (size_t)(hole - begin), begin);
            if (got <= 0)
                return got < 0 ? -errno : -EIO;
            begin += got;
        }
        begin = lseek(data_fd, begin, SEEK_DATA);
    }
    return begin < 0 && errno != ENXIO ? -errno : 0;
}

static int backing_open(struct region *region, int data_fd, unsigned flags) {
    region->backing = map_shared(data_fd, region->mapped_bytes, NULL);
    if (region->backing == MAP_FAILED) {
        region->backing = NULL;
        return -errno;
    }
    if (flags & SNAPSHOT_POPULATE)
        (void)madvise(region->backing, region->mapped_bytes, MADV_POPULATE_WRITE);
    struct recovery recovery;
    int status = recover(region->log, region->backing, region->bytes, &recovery);
    if (status < 0)
        return status;
    region->epoch = recovery.epoch_next;
    region->stats =
        (struct snapshot_stats){.lines_undone = recovery.lines_undone, .recovered_epoch = recovery.epoch, .fences = 2};
    return 0;
}

static int working_open(struct region *region, int data_fd, void *hint) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *states = kernel_mmap(NULL, region->mapped_bytes / LINE_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (states == MAP_FAILED)
        return -errno;
    region->line_states = states;
    int status = arena_reserve(region->mapped_bytes, hint, &region->working);
    return status < 0 ? status : working_fill(region, data_fd);
}

static int region_size(struct region *region, int data_fd) {
    struct stat status;
    if (fstat(data_fd, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode) || status.st_size == 0)
        return -EINVAL;
    if ((uint64_t)status.st_size > DATA_BYTES_MAX)
        return -EFBIG;
    region->bytes = (uint64_t)status.st_size;
    region->mapped_bytes = (region->bytes + 4095) / 4096 * 4096;
    return 0;
}

static void region_release(struct region *region) {
    if (region->working)
        arena_release(region->working, region->mapped_bytes);
    thread_logs_free(region);
    if (region->line_states)
        kernel_munmap((void *)region->line_states, region->mapped_bytes / LINE_BYTES);
    if (region->backing)
        kernel_munmap(region->backing, region->mapped_bytes);
    log_file_close(region);
    memset(region, 0, sizeof(*region));
}

static int region_open_locked(int data_fd, const char *path, unsigned flags, void *hint, struct region **out) {
    struct region *region = regions;
    while (region < regions + REGIONS_MAX && region->in_use)
        region++;
    if (region == regions + REGIONS_MAX)
        return -EMFILE;
    memset(region, 0, sizeof(*region));
    region->log_fd = -1;
    pthread_mutex_init(&region->mutex, NULL);
    int status = region_size(region, data_fd);
    if (status == 0)
        status = log_file_open(region, path, flags);
    if (status == 0)
        status = backing_open(region, data_fd, flags);
    if (status == 0)
        status = working_open(region, data_fd, hint);
    if (status < 0) {
        region_release(region);
        return status;
    }
    region->generation = ++generation_last;
    region->in_use = true;
    *out = region;
    return 0;
}

int region_open(int data_fd, const char *path, unsigned flags, void *hint, struct region **out) {
    pthread_mutex_lock(&regions_mutex);
    int status = region_open_locked(data_fd, path, flags, hint, out);
    pthread_mutex_unlock(&regions_mutex);
    return status;
}

int region_close(struct region *region) {
    pthread_mutex_lock(&regions_mutex);
    region->in_use = false;
    region_release(region);
    pthread_mutex_unlock(&regions_mutex);
    return 0;
}

/* A log beside a file that has nothing in it belonged to an earlier file of that name. */
static void stale_log_remove(const char *path) {
    char log_path[PATH_MAX];
    if (snprintf(log_path, sizeof(log_path), "%s.snapshot-log", path) < (int)sizeof(log_path))
        (void)unlink(log_path);
}

/* To at least so many bytes; with blocks if it is going to be populated. */
static int file_extend(int fd, const char *path, size_t bytes, unsigned flags) {
    struct stat status;
    if (fstat(fd, &status) < 0)
        return -errno;
    if (status.st_size == 0)
        stale_log_remove(path);
    if (bytes > (uint64_t)status.st_size && ftruncate(fd, (off_t)bytes) < 0)
        return -errno;
    return (flags & SNAPSHOT_POPULATE) && bytes ? -posix_fallocate(fd, 0, (off_t)bytes) : 0;
}

int snapshot_map(const char *path, size_t bytes, unsigned flags, void *hint, void **address) {
    struct region *region = NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    int result = file_extend(fd, path, bytes, flags);
    if (result == 0)
        result = region_open(fd, path, flags, hint, &region);
    close(fd);
    if (result == 0)
        *address = region->working;
    return result;
}

int snapshot_sync(void *address) {
    struct region *region = region_find(address);
    return region ? region_commit(region, COMMIT_DURABLE) : -EINVAL;
}

int snapshot_rollback(void *address) {
    struct region *region = region_find(address);
    if (!region)
        return -EINVAL;
    region_rollback(region);
    return 0;
}

int snapshot_unmap(void *address) {
    struct region *region = region_find(address);
    return region ? region_close(region) : -EINVAL;
}

void snapshot_log_range(const void *address, size_t bytes) {
    struct region *region = region_find(address);
    if (region)
        log_range(region, (uint64_t)((const uint8_t *)address - region->working), bytes);
}

int snapshot_get_stats(const void *address, struct snapshot_stats *stats) {
    struct region *region = region_find(address);
    if (!region)
        return -EINVAL;
    *stats = region->stats;
    stats->log_file_bytes = region->log.bytes;
    return 0;
}
