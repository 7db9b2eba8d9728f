// SPDX-License-Identifier: BSD-3-Clause
//
// The interposed functions by the names that they have in libraries for tests.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdio>

#define DECLARE(type, name, parameters)                                                                                \
    extern "C" type snapshot_posix_##name parameters;                                                                  \
    [[maybe_unused]] static constexpr auto p_##name = &snapshot_posix_##name

DECLARE(void *, mmap, (void *, size_t, int, int, int, off_t));
DECLARE(int, munmap, (void *, size_t));
DECLARE(void *, mremap, (void *, size_t, size_t, int, ...));
DECLARE(int, msync, (void *, size_t, int));
DECLARE(int, madvise, (void *, size_t, int));
DECLARE(ssize_t, read, (int, void *, size_t));
DECLARE(ssize_t, write, (int, const void *, size_t));
DECLARE(ssize_t, pread, (int, void *, size_t, off_t));
DECLARE(ssize_t, pwrite, (int, const void *, size_t, off_t));
DECLARE(ssize_t, writev, (int, const struct iovec *, int));
DECLARE(ssize_t, preadv, (int, const struct iovec *, int, off_t));
DECLARE(ssize_t, pwritev, (int, const struct iovec *, int, off_t));
DECLARE(ssize_t, preadv2, (int, const struct iovec *, int, off_t, int));
DECLARE(ssize_t, pwritev2, (int, const struct iovec *, int, off_t, int));
DECLARE(int, fsync, (int));
DECLARE(int, fdatasync, (int));
DECLARE(int, ftruncate, (int, off_t));
DECLARE(int, truncate, (const char *, off_t));
DECLARE(int, fallocate, (int, int, off_t, off_t));
DECLARE(int, posix_fallocate, (int, off_t, off_t));
DECLARE(int, open, (const char *, int, ...));
DECLARE(int, open64, (const char *, int, ...));
DECLARE(int, openat, (int, const char *, int, ...));
DECLARE(int, openat64, (int, const char *, int, ...));
DECLARE(int, __openat_2, (int, const char *, int));
DECLARE(int, unlink, (const char *));
DECLARE(int, unlinkat, (int, const char *, int));
DECLARE(int, remove, (const char *));
DECLARE(int, rename, (const char *, const char *));
DECLARE(int, renameat, (int, const char *, int, const char *));
DECLARE(int, renameat2, (int, const char *, int, const char *, unsigned));
DECLARE(int, close, (int));
DECLARE(int, dup2, (int, int));
DECLARE(int, dup3, (int, int, int));
DECLARE(int, close_range, (unsigned, unsigned, int));
DECLARE(ssize_t, sendfile, (int, int, off_t *, size_t));
DECLARE(ssize_t, copy_file_range, (int, off_t *, int, off_t *, size_t, unsigned));
DECLARE(ssize_t, splice, (int, off_t *, int, off_t *, size_t, unsigned));
DECLARE(int, ioctl, (int, unsigned long, ...));
DECLARE(FILE *, fopen, (const char *, const char *));
DECLARE(FILE *, fdopen, (int, const char *));
DECLARE(int, fclose, (FILE *));
DECLARE(int, dprintf, (int, const char *, ...));

#undef DECLARE
