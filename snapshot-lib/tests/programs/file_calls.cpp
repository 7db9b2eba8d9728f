// SPDX-License-Identifier: BSD-3-Clause
//
// Kyoto Cabinet's system calls, put between it and libc by the linker (--wrap), told to the watched files.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdarg>

#include "watched_files.hpp"

using programs::watched_files;
using Call = programs::WatchedFiles::Call;

template <class Real> static auto told(int file, Call call, Real &&real) {
    if (file >= 0)
        watched_files->before();
    auto result = real();
    if (file >= 0)
        watched_files->after(file, call);
    return result;
}

static int fileOf(int fd) { return watched_files ? watched_files->find(fd) : -1; }
static int fileOf(const char *path) { return watched_files ? watched_files->find(std::string(path)) : -1; }

extern "C" {
int __real_open64(const char *path, int flags, mode_t mode);
ssize_t __real_pwrite64(int fd, const void *bytes, size_t count, off_t offset);
int __real_ftruncate64(int fd, off_t size);
int __real_fsync(int fd);
int __real_unlink(const char *path);
int __real_msync(void *address, size_t bytes, int flags);

int __wrap_open64(const char *path, int flags, mode_t mode) {
    return told(flags & (O_CREAT | O_TRUNC) ? fileOf(path) : -1, Call::Other,
                [&] { return __real_open64(path, flags, mode); });
}

ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t count, off_t offset) {
    return told(fileOf(fd), Call::Other, [&] { return __real_pwrite64(fd, bytes, count, offset); });
}

int __wrap_ftruncate64(int fd, off_t size) {
    return told(fileOf(fd), Call::Other, [&] { return __real_ftruncate64(fd, size); });
}

int __wrap_fsync(int fd) {
    return told(fileOf(fd), Call::Fsync, [&] { return __real_fsync(fd); });
}

int __wrap_unlink(const char *path) {
    return told(fileOf(path), Call::Other, [&] { return __real_unlink(path); });
}

// Only one tracked file is ever mapped: the first.
int __wrap_msync(void *address, size_t bytes, int flags) {
    return told(watched_files && (flags & MS_SYNC) ? 0 : -1, Call::Msync,
                [&] { return __real_msync(address, bytes, flags); });
}
}
