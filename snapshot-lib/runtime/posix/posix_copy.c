/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls by which the kernel copies from file to file. If one of the two files is tracked, the call is replaced by
 * reading and writing, which use the working copy; blocks cannot be shared with a working copy.
 */
#define _GNU_SOURCE
#include "posix.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A descriptor and an offset in its file. NULL: use, and advance, the descriptor's own position. */
struct end {
    int fd;
    off_t *at;
};

static bool is_tracked(int fd) { return region_of_file(fd); }

static ssize_t end_read(struct end from, void *to, size_t bytes) {
    ssize_t got = from.at ? INTERPOSED(pread)(from.fd, to, bytes, *from.at) : INTERPOSED(read)(from.fd, to, bytes);
    if (got > 0 && from.at)
        *from.at += got;
    return got;
}

static ssize_t end_write(struct end to, const void *from, size_t bytes) {
    ssize_t put = to.at ? INTERPOSED(pwrite)(to.fd, from, bytes, *to.at) : INTERPOSED(write)(to.fd, from, bytes);
    if (put > 0 && to.at)
        *to.at += put;
    return put;
}

/* Return bytes that were read but not written, so that they can be read again. Not possible for a pipe. */
static void end_unread(struct end from, ssize_t bytes) {
    if (from.at)
        *from.at -= bytes;
    else if (bytes > 0)
        lseek(from.fd, -bytes, SEEK_CUR);
}

/* Copy as much as possible. An error counts only if nothing was copied. `once`: copy one piece, without waiting for
 * more. */
static ssize_t copy(struct end from, struct end to, size_t bytes, bool once) {
    char piece[16384];
    ssize_t done = 0;
    do {
        size_t wanted = bytes - (size_t)done < sizeof(piece) ? bytes - (size_t)done : sizeof(piece);
        ssize_t got = end_read(from, piece, wanted);
        if (got <= 0)
            return done > 0 ? done : got;
        ssize_t put = end_write(to, piece, (size_t)got);
        end_unread(from, got - (put > 0 ? put : 0));
        if (put <= 0)
            return done > 0 ? done : put;
        done += put;
    } while (!once && (size_t)done < bytes);
    return done;
}

ssize_t INTERPOSED(sendfile)(int out, int in, off_t *at, size_t bytes) {
    if (!is_tracked(in) && !is_tracked(out))
        return syscall(SYS_sendfile, out, in, at, bytes);
    if (fcntl(out, F_GETFL) & O_APPEND)
        return posix_result(-EINVAL);
    return bytes == 0 ? 0 : copy((struct end){in, at}, (struct end){out, NULL}, bytes, false);
}

ssize_t INTERPOSED(sendfile64)(int out, int in, off_t *at, size_t bytes) {
    return INTERPOSED(sendfile)(out, in, at, bytes);
}

static bool is_regular(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

static off_t position(struct end end) { return end.at ? *end.at : lseek(end.fd, 0, SEEK_CUR); }

/* Bytes up to the present end of the file, which may grow because of the copy itself. */
static uint64_t bytes_left(struct end end) {
    struct stat status;
    off_t at = position(end);
    return at >= 0 && fstat(end.fd, &status) == 0 && at < status.st_size ? (uint64_t)(status.st_size - at) : 0;
}

static bool overlap(struct end in, struct end out, size_t bytes) {
    struct region *region = region_of_file(in.fd);
    off_t from = position(in), to = position(out), distance = from < to ? to - from : from - to;
    return region && region == region_of_file(out.fd) && (uint64_t)distance < bytes;
}

ssize_t INTERPOSED(copy_file_range)(int in, off_t *in_at, int out, off_t *out_at, size_t bytes, unsigned flags) {
    struct end from = {in, in_at}, to = {out, out_at};
    if (!is_tracked(in) && !is_tracked(out))
        return syscall(SYS_copy_file_range, in, in_at, out, out_at, bytes, flags);
    uint64_t left = bytes_left(from);
    bytes = bytes < left ? bytes : left;
    if (flags || !is_regular(in) || !is_regular(out) || overlap(from, to, bytes))
        return posix_result(-EINVAL);
    if (fcntl(out, F_GETFL) & O_APPEND)
        return posix_result(-EBADF);
    return bytes == 0 ? 0 : copy(from, to, bytes, false);
}

static bool is_ready(int fd, short event) {
    struct pollfd one = {.fd = fd, .events = event};
    return poll(&one, 1, 0) == 1;
}

/* One end is a tracked file, so the other must be a pipe. */
ssize_t INTERPOSED(splice)(int in, off_t *in_at, int out, off_t *out_at, size_t bytes, unsigned flags) {
    if (!is_tracked(in) && !is_tracked(out))
        return syscall(SYS_splice, in, in_at, out, out_at, bytes, flags);
    if ((is_regular(in) && is_regular(out)) || (is_regular(out) && fcntl(out, F_GETFL) & O_APPEND))
        return posix_result(-EINVAL);
    if (flags & SPLICE_F_NONBLOCK && !(is_ready(in, POLLIN) && is_ready(out, POLLOUT)))
        return posix_result(-EAGAIN);
    return bytes == 0 ? 0 : copy((struct end){in, in_at}, (struct end){out, out_at}, bytes, true);
}

/* FICLONE and FICLONERANGE share blocks. Cloning into a tracked file fails; cloning from one takes its committed
 * content. */
int INTERPOSED(ioctl)(int fd, unsigned long request, ...);
int INTERPOSED(ioctl)(int fd, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    bool shares = request == FICLONE || request == FICLONERANGE;
    if (shares && is_tracked(fd))
        return posix_result(-EOPNOTSUPP);
    int source = request == FICLONE ? (int)(intptr_t)argument
                 : shares           ? (int)((struct file_clone_range *)argument)->src_fd
                                    : -1;
    USE_REGION(region, region_use(shares ? source : -1));
    int published = 0;
    if (region && !region->inherited)
        published = tracked_publish(region);
    if (published < 0)
        return posix_result(published);
    return (int)syscall(SYS_ioctl, fd, request, argument);
}
