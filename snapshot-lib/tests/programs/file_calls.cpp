// SPDX-License-Identifier: BSD-3-Clause
//
// Kyoto Cabinet's system calls, put between it and libc by the linker (--wrap), told to the file model.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdarg>

#include "file_model.hpp"

using programs::file_model;
using Call = programs::FileModel::Call;

template <class Real> static auto told(int file, Call call, Real &&real) {
    if (file >= 0)
        file_model->before();
    auto result = real();
    if (file >= 0)
        file_model->after(file, call);
    return result;
}

static int fileOf(int fd) { return file_model ? file_model->find(fd) : -1; }
static int fileOf(const char *path) { return file_model ? file_model->find(std::string(path)) : -1; }

extern "C" {
int __real_open64(const char *path, int flags, mode_t mode);
ssize_t __real_pwrite64(int fd, const void *bytes, size_t count, off_t offset);
int __real_ftruncate64(int fd, off_t size);
int __real_fsync(int fd);
int __real_unlink(const char *path);
int __real_msync(void *address, size_t bytes, int flags);

int __wrap_open64(const char *path, int flags, mode_t mode) {
    return told(flags & (O_CREAT | O_TRUNC) ? fileOf(path) : -1, Call::Named,
                [&] { return __real_open64(path, flags, mode); });
}

ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t count, off_t offset) {
    return told(fileOf(fd), Call::Write, [&] { return __real_pwrite64(fd, bytes, count, offset); });
}

int __wrap_ftruncate64(int fd, off_t size) {
    return told(fileOf(fd), Call::Write, [&] { return __real_ftruncate64(fd, size); });
}

int __wrap_fsync(int fd) {
    return told(fileOf(fd), Call::Fsync, [&] { return __real_fsync(fd); });
}

int __wrap_unlink(const char *path) {
    return told(fileOf(path), Call::Named, [&] { return __real_unlink(path); });
}

// Only one tracked file is ever mapped: the first.
int __wrap_msync(void *address, size_t bytes, int flags) {
    return told(file_model && (flags & MS_SYNC) ? 0 : -1, Call::Msync,
                [&] { return __real_msync(address, bytes, flags); });
}
}
