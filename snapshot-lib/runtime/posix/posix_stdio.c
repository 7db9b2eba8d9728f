/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams. Their reads and writes go from libc to the kernel and cannot be intercepted here, but their opening can.
 * Opening a stream recovers the file after a crash, cuts a file together with its log, and gives a file that is read
 * all committed data; a stream that would write beside a working copy is refused. A file that is not open here belongs
 * to the streams alone: its log asserts nothing.
 */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "posix.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"

/* libc's own names of its functions. */
FILE *_IO_fopen(const char *path, const char *mode);
FILE *_IO_fdopen(int fd, const char *mode);

/* Return 0, or -errno if the stream must not be opened. */
static int prepare(int fd, const char *mode) {
    USE_REGION(region, region_use(fd));
    bool writes = mode[0] != 'r' || strchr(mode, '+');
    if (!region || region->inherited)
        return 0;
    if (!writes)
        return tracked_publish(region);
    dprintf(
        STDERR_FILENO,
        "snapshot: %s: is mapped, and what a stream writes would miss the mapping: use open() and write(), or unmap "
        "and commit it first\n",
        region->path);
    return -EBUSY;
}

static int prepare_path(const char *path, const char *mode) {
    struct stat status;
    if (stat(path, &status) < 0 || !S_ISREG(status.st_mode) || strchr(mode, 'x'))
        return 0;
    int fd = INTERPOSED(open)(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return 0; /* libc reports the error, or can open the file without write access */
    int result = prepare(fd, mode);
    if (result == 0 && mode[0] == 'w' && INTERPOSED(ftruncate)(fd, 0) < 0)
        result = -errno;
    INTERPOSED(close)(fd);
    return result;
}

FILE *INTERPOSED(fopen)(const char *path, const char *mode) {
    int saved = errno, status = prepare_path(path, mode);
    errno = status < 0 ? -status : saved;
    return status < 0 ? NULL : _IO_fopen(path, mode);
}

FILE *INTERPOSED(fopen64)(const char *path, const char *mode) { return INTERPOSED(fopen)(path, mode); }

FILE *INTERPOSED(fdopen)(int fd, const char *mode) {
    int saved = errno, status = prepare(fd, mode);
    errno = status < 0 ? -status : saved;
    return status < 0 ? NULL : _IO_fdopen(fd, mode);
}

/* libc's vdprintf() and dprintf() would write to the descriptor from within libc. */
int INTERPOSED(vdprintf)(int fd, const char *format, va_list arguments) {
    char few[1024], *text = few;
    va_list again;
    va_copy(again, arguments);
    int bytes = vsnprintf(few, sizeof(few), format, arguments);
    if (bytes >= (int)sizeof(few)) {
        text = memory_map((size_t)bytes + 1);
        vsnprintf(text, (size_t)bytes + 1, format, again);
    }
    va_end(again);
    ssize_t put = 0;
    for (int done = 0; done < bytes && put >= 0; done += (int)put)
        put = INTERPOSED(write)(fd, text + done, (size_t)(bytes - done));
    if (text != few)
        kernel_munmap(text, (size_t)bytes + 1);
    return put < 0 ? -1 : bytes;
}

int INTERPOSED(dprintf)(int fd, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int result = INTERPOSED(vdprintf)(fd, format, arguments);
    va_end(arguments);
    return result;
}
