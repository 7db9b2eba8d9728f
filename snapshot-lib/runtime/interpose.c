/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mmap, munmap, mremap and msync of a program linked with libsnapshot. What is not tracked goes to the kernel as it is.
 */
#define _GNU_SOURCE
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    return path[0] == '/';
}

/* SNAPSHOT_DIR is one directory or several, separated by colons. */
static bool below_tracked_directory(const char *path) {
    const char *entry = getenv("SNAPSHOT_DIR");
    while (entry && *entry) {
        size_t length = strcspn(entry, ":");
        if (length && strncmp(path, entry, length) == 0 && (path[length] == '/' || entry[length - 1] == '/'))
            return true;
        entry += length + (entry[length] == ':');
    }
    return false;
}

static bool wants_tracking(int protection, int flags, int fd, char *path) {
    int type = flags & MAP_TYPE;
    if (fd < 0 || !(protection & PROT_WRITE) || (type != MAP_SHARED && type != MAP_SHARED_VALIDATE))
        return false;
    if (!path_of(fd, path))
        return false;
    return (type == MAP_SHARED_VALIDATE && (flags & MAP_SYNC)) || below_tracked_directory(path);
}

static void *fail(int error) {
    errno = error;
    return MAP_FAILED;
}

static void *map_tracked(void *hint, size_t bytes, int flags, int fd, off_t offset, const char *path) {
    struct stat status;
    struct region *region = NULL;
    if (fstat(fd, &status) < 0)
        return MAP_FAILED;
    if (offset != 0 || (flags & MAP_FIXED) || bytes > (uint64_t)(status.st_size + 4095) / 4096 * 4096)
        return fail(EINVAL);
    struct open_request request = {
        .fd = fd, .path = path, .flags = flags & MAP_POPULATE ? SNAPSHOT_POPULATE : 0, .hint = hint};
    int result = region_open(&request, &region);
    return result < 0 ? fail(-result) : region->working;
}

void *mmap(void *hint, size_t bytes, int protection, int flags, int fd, off_t offset) {
    char path[PATH_MAX];
    if (!wants_tracking(protection, flags, fd, path))
        return kernel_mmap(hint, bytes, protection, flags, fd, offset);
    return map_tracked(hint, bytes, flags, fd, offset, path);
}

void *mmap64(void *hint, size_t bytes, int protection, int flags, int fd, off_t offset) {
    return mmap(hint, bytes, protection, flags, fd, offset);
}

int munmap(void *address, size_t bytes) {
    struct region *region = region_find(address);
    if (!region)
        return kernel_munmap(address, bytes);
    if (address != region->working || (bytes + 4095) / 4096 * 4096 != region->mapped_bytes) {
        errno = EINVAL; /* a part of a file cannot be untracked */
        return -1;
    }
    return region_close(region);
}

void *mremap(void *address, size_t old_bytes, size_t new_bytes, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    void *place = flags & MREMAP_FIXED ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    if (region_find(address))
        return fail(ENOTSUP);
    return (void *)syscall(SYS_mremap, address, old_bytes, new_bytes, flags, place);
}

/* Any range of a tracked file commits the whole file: atomicity over less is atomicity over nothing. */
int msync(void *address, size_t bytes, int flags) {
    struct region *region = region_find(address);
    if (!region)
        return (int)syscall(SYS_msync, address, bytes, flags);
    int result = 0;
    if ((uintptr_t)address % 4096 || ((flags & MS_SYNC) && (flags & MS_ASYNC)))
        result = -EINVAL;
    else if (bytes > region->mapped_bytes - (uint64_t)((uint8_t *)address - region->working))
        result = -ENOMEM;
    else if (flags & MS_INVALIDATE)
        region_rollback(region);
    else
        result = region_commit(region, COMMIT_DURABLE);
    if (result == 0)
        return 0;
    errno = -result;
    return -1;
}
