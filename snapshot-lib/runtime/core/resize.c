/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resizing a tracked file. The new size is effective at once and for good, as with ftruncate() of any file; it is not
 * part of the transaction under way. Growth leaves this transaction open. A cut commits it, because the removed content
 * cannot be brought back. After every step file and log fit each other:
 *
 *     [cut: commit, detach the log] -> the log admits both sizes -> ftruncate, fsync -> the log has the new size
 *
 * The log is detached before a cut, because a log that names lines behind the end could not be applied any more.
 */
#define _GNU_SOURCE
#include "regions.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backing.h"
#include "base/arena.h"
#include "base/tracker.h"
#include "commit.h"
#include "log/file_record.h"
#include "log/persist.h"

static uint64_t pages_up(uint64_t bytes) { return (bytes + SNAPSHOT_PAGE - 1) / SNAPSHOT_PAGE * SNAPSHOT_PAGE; }

/* Atomic: threads that announce check whether an address is the file's before they shut out commits. */
static void size_set(struct region *region, uint64_t bytes) {
    region->bytes = bytes;
    __atomic_store_n(&region->mapped_bytes, pages_up(bytes), __ATOMIC_RELEASE);
}

static int file_resize(struct region *region, int fd, uint64_t bytes) {
    struct file_record record = file_record_read(region->log);
    if (record.sequence == 0)
        return -EUCLEAN;
    record.bytes = region->bytes;
    record.bytes_next = bytes;
    file_record_write(region->log, record);
    int status = persist_resize(fd, bytes);
    if (status < 0)
        return status; /* the log fits the file whether or not its size has changed */
    record.sequence++;
    record.bytes = bytes;
    file_record_write(region->log, record);
    return 0;
}

static bool has_size(int fd, uint64_t bytes) {
    struct stat status;
    return fstat(fd, &status) == 0 && (uint64_t)status.st_size == bytes;
}

/* The file returns to its old size if the new one cannot be made durable. */
static int grow(struct region *region, int fd, uint64_t bytes) {
    uint64_t pages = pages_up(bytes), end_page = region->bytes / SNAPSHOT_PAGE * SNAPSHOT_PAGE;
    int status = tracker_collect(region); /* stores to the page with the end of the file */
    if (status < 0)
        return status;
    memset(region->working + region->bytes, 0, region->mapped_bytes - region->bytes); /* bytes behind the old end */
    status = arena_populate(region->working + region->mapped_bytes, pages - region->mapped_bytes);
    if (status == 0)
        status = tracker_forget(region, end_page, region->mapped_bytes - end_page);
    if (status == 0)
        status = tracker_watch(region, region->mapped_bytes, pages - region->mapped_bytes);
    if (status == 0)
        status = file_resize(region, fd, bytes);
    if (status < 0) {
        if (has_size(fd, bytes))
            (void)syscall(SYS_ftruncate, fd, region->bytes);
        return status;
    }
    size_set(region, bytes);
    return 0;
}

/* The removed content is gone, even if the new size cannot be made durable. */
static int cut_committed(struct region *region, int fd, uint64_t bytes) {
    uint64_t pages = pages_up(bytes);
    int status = region_retire_locked(region);
    if (status < 0)
        return status;
    status = file_resize(region, fd, bytes);
    if (status < 0 && !has_size(fd, bytes))
        return status;
    region->protocol->cut(region, (bytes + LINE_BYTES - 1) / LINE_BYTES);
    arena_empty(region->working + pages, region->mapped_bytes - pages);
    memset(region->working + bytes, 0, pages - bytes);
    pages_forget(region, bytes);
    if (region->shadow)
        memset(region->shadow + bytes, 0, region->bytes - bytes);
    size_set(region, bytes);
    (void)tracker_forget(region, 0, pages); /* after a failure pages count as changed */
    return status;
}

static int cut(struct region *region, int fd, uint64_t bytes) {
    int status = region_commit_uncarried(region, COMMIT_DURABLE);
    if (status < 0)
        return status;
    status = cut_committed(region, fd, bytes);
    region_carry(region);
    return status;
}

/*
 * `fd` is any writable descriptor of the file. Threads may store meanwhile, but not to the part that is cut off.
 * Returns 0, -EFBIG: the size exceeds the addresses reserved for the file, -ENOSPC and -EUCLEAN from the commit,
 * -EUCLEAN also if the log does not identify its file, or the error of ftruncate and fsync.
 */
int region_resize(struct region *region, int fd, uint64_t bytes) {
    if (region->inherited)
        return -EPERM;
    if (bytes > region->span_bytes) {
        int status = region->mapping_count == 0 ? region_move(region, NULL, false, bytes) : -EFBIG;
        if (status < 0)
            return status;
    }
    region_enter(region);
    int status = bytes > region->bytes ? grow(region, fd, bytes) : bytes < region->bytes ? cut(region, fd, bytes) : 0;
    region_leave(region);
    return status;
}
