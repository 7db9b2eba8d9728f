/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading, writing and syncing tracked files by descriptor. The calls read and change the working copy, so that they
 * agree with the mapping; written data is part of the next commit.
 */
#define _GNU_SOURCE
#include "base/epochs.h"
#include "posix.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* libc's own names of its functions, which, unlike plain system calls, are cancellation points. */
ssize_t __read(int fd, void *to, size_t bytes);
ssize_t __write(int fd, const void *from, size_t bytes);
ssize_t __pread64(int fd, void *to, size_t bytes, off_t at);
ssize_t __pwrite64(int fd, const void *from, size_t bytes, off_t at);

static ssize_t io_fail(int error) {
    errno = error;
    return -1;
}

static ssize_t tracked_read(const struct region *region, const struct iovec *parts, int count, off_t at) {
    ssize_t done = 0;
    if (at < 0)
        return io_fail(EINVAL);
    for (int i = 0; i < count; i++) {
        uint64_t from = (uint64_t)(at + done), room = from < region->bytes ? region->bytes - from : 0;
        size_t bytes = parts[i].iov_len < room ? parts[i].iov_len : room;
        memcpy(parts[i].iov_base, region->working + from, bytes);
        done += (ssize_t)bytes;
    }
    return done;
}

/* The behaviour of a write, from its own flags and the flags of its descriptor. */
struct manner {
    bool appends, syncs;
};

static int manner_of(int fd, int flags, struct manner *manner) {
    const int known = RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_NOWAIT | RWF_APPEND;
    int mode = fcntl(fd, F_GETFL);
    if ((mode & O_ACCMODE) == O_RDONLY)
        return -EBADF;
    if (flags & ~known)
        return -EOPNOTSUPP;
    manner->appends = mode & O_APPEND || flags & RWF_APPEND;
    manner->syncs = mode & O_DSYNC || flags & (RWF_DSYNC | RWF_SYNC);
    return 0;
}

/* Grow the file if necessary. Set `at` to the end of the write. */
static ssize_t tracked_write(struct region *region, int fd, const struct iovec *parts, int count, off_t *at,
                             struct manner manner) {
    uint64_t bytes = 0;
    int status = 0;
    for (int i = 0; i < count; i++)
        bytes += parts[i].iov_len;
    if (manner.appends)
        *at = (off_t)region->bytes;
    if (bytes > 0 && (uint64_t)*at + bytes > region->bytes)
        status = region_resize(region, fd, (uint64_t)*at + bytes);
    if (status < 0)
        return io_fail(-status);
    uint8_t *to = region->working + *at;
    snapshot_log_range(to, bytes);
    for (int i = 0; i < count; to += parts[i++].iov_len)
        memcpy(to, parts[i].iov_base, parts[i].iov_len);
    *at += (off_t)bytes;
    return (ssize_t)bytes;
}

static ssize_t read_at(struct region *region, const struct iovec *parts, int count, off_t at) {
    contents_share(region);
    ssize_t done = tracked_read(region, parts, count, at);
    contents_release(region);
    return done;
}

/* Two calls at one position must not transfer the same bytes. */
static ssize_t read_here(struct region *region, int fd, const struct iovec *parts, int count) {
    contents_take(region);
    off_t at = lseek(fd, 0, SEEK_CUR);
    ssize_t done = tracked_read(region, parts, count, at);
    if (done > 0)
        lseek(fd, at + done, SEEK_SET);
    contents_release(region);
    return done;
}

/* Publish the last commit, for a reader that goes past the library. The file does not move meanwhile. */
int tracked_publish(struct region *region) {
    contents_share(region);
    int status = region_publish(region);
    contents_release(region);
    return status;
}

/* A checkpoint takes the contents itself, when no thread stores: a thread that waits for them cannot reach its point.
 */
static int sync_tracked(struct region *region) {
    if (epochs_are_kept(region))
        return region_msync(region, COMMIT_DURABLE);
    contents_share(region);
    int status = region_msync(region, COMMIT_DURABLE);
    contents_release(region);
    return status;
}

/* Write at `*at`, or at the position of the descriptor, which moves. */
static ssize_t write_tracked(struct region *region, int fd, const struct iovec *parts, int count, const off_t *at,
                             int flags) {
    struct manner manner;
    int status = at && *at < 0 ? -EINVAL : manner_of(fd, flags, &manner);
    if (status == 0 && region->inherited)
        status = -EPERM;
    if (status < 0)
        return io_fail(-status);
    if (region->protocol->enter) /* may wait for a checkpoint, and a checkpoint for the contents */
        region->protocol->enter(region);
    contents_take(region);
    off_t end = at ? *at : lseek(fd, 0, SEEK_CUR);
    ssize_t done = tracked_write(region, fd, parts, count, &end, manner);
    if (done > 0 && !at)
        lseek(fd, end, SEEK_SET);
    contents_release(region);
    status = done >= 0 && manner.syncs ? sync_tracked(region) : 0;
    return status < 0 ? io_fail(-status) : done;
}

/* Return the tracked file of any descriptor. NULL: the file is not tracked; it has been recovered if a crash made that
 * necessary. */
static struct region *region_for_io(int fd) {
    struct region *region = region_use(fd);
    if (!region)
        descriptor_look(fd);
    return region;
}

ssize_t INTERPOSED(read)(int fd, void *to, size_t bytes) {
    USE_REGION(region, region_for_io(fd));
    return region ? read_here(region, fd, &(struct iovec){to, bytes}, 1) : __read(fd, to, bytes);
}

ssize_t INTERPOSED(write)(int fd, const void *from, size_t bytes) {
    USE_REGION(region, region_for_io(fd));
    return region ? write_tracked(region, fd, &(struct iovec){(void *)from, bytes}, 1, NULL, 0)
                  : __write(fd, from, bytes);
}

ssize_t INTERPOSED(pread)(int fd, void *to, size_t bytes, off_t at) {
    USE_REGION(region, region_for_io(fd));
    return region ? read_at(region, &(struct iovec){to, bytes}, 1, at) : __pread64(fd, to, bytes, at);
}

ssize_t INTERPOSED(pwrite)(int fd, const void *from, size_t bytes, off_t at) {
    USE_REGION(region, region_for_io(fd));
    return region ? write_tracked(region, fd, &(struct iovec){(void *)from, bytes}, 1, &at, 0)
                  : __pwrite64(fd, from, bytes, at);
}

ssize_t INTERPOSED(readv)(int fd, const struct iovec *parts, int count) {
    USE_REGION(region, region_for_io(fd));
    return region ? read_here(region, fd, parts, count) : syscall(SYS_readv, fd, parts, count);
}

ssize_t INTERPOSED(writev)(int fd, const struct iovec *parts, int count) {
    USE_REGION(region, region_for_io(fd));
    return region ? write_tracked(region, fd, parts, count, NULL, 0) : syscall(SYS_writev, fd, parts, count);
}

ssize_t INTERPOSED(preadv)(int fd, const struct iovec *parts, int count, off_t at) {
    USE_REGION(region, region_for_io(fd));
    return region ? read_at(region, parts, count, at) : syscall(SYS_preadv, fd, parts, count, at, 0);
}

ssize_t INTERPOSED(pwritev)(int fd, const struct iovec *parts, int count, off_t at) {
    USE_REGION(region, region_for_io(fd));
    return region ? write_tracked(region, fd, parts, count, &at, 0) : syscall(SYS_pwritev, fd, parts, count, at, 0);
}

/* An offset of -1 means the descriptor's position. */
ssize_t INTERPOSED(preadv2)(int fd, const struct iovec *parts, int count, off_t at, int flags) {
    USE_REGION(region, region_for_io(fd));
    if (!region)
        return syscall(SYS_preadv2, fd, parts, count, at, 0, flags);
    if (flags & ~(RWF_HIPRI | RWF_NOWAIT))
        return io_fail(EOPNOTSUPP);
    return at == -1 ? read_here(region, fd, parts, count) : read_at(region, parts, count, at);
}

ssize_t INTERPOSED(pwritev2)(int fd, const struct iovec *parts, int count, off_t at, int flags) {
    USE_REGION(region, region_for_io(fd));
    if (!region)
        return syscall(SYS_pwritev2, fd, parts, count, at, 0, flags);
    return write_tracked(region, fd, parts, count, at == -1 ? NULL : &at, flags);
}

/* Make all stores and writes durable, all or nothing: the same commit as msync(MS_SYNC). */
int INTERPOSED(fsync)(int fd) {
    USE_REGION(region, region_use(fd));
    return region ? posix_result(sync_tracked(region)) : (int)syscall(SYS_fsync, fd);
}

int INTERPOSED(fdatasync)(int fd) {
    USE_REGION(region, region_use(fd));
    return region ? posix_result(sync_tracked(region)) : (int)syscall(SYS_fdatasync, fd);
}

#define SAME(type, name, of, parameters, arguments)                                                                    \
    type INTERPOSED(name) parameters;                                                                                  \
    type INTERPOSED(name) parameters { return INTERPOSED(of) arguments; }

SAME(ssize_t, pread64, pread, (int fd, void *to, size_t bytes, off_t at), (fd, to, bytes, at))
SAME(ssize_t, pwrite64, pwrite, (int fd, const void *from, size_t bytes, off_t at), (fd, from, bytes, at))
SAME(ssize_t, preadv64, preadv, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at))
SAME(ssize_t, pwritev64, pwritev, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at))
SAME(ssize_t, preadv64v2, preadv2, (int fd, const struct iovec *parts, int count, off_t at, int flags),
     (fd, parts, count, at, flags))
SAME(ssize_t, pwritev64v2, pwritev2, (int fd, const struct iovec *parts, int count, off_t at, int flags),
     (fd, parts, count, at, flags))
