/* SPDX-License-Identifier: BSD-3-Clause */
#include "image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* The size of a file or of a block device. lseek() also succeeds on a folder, but does not return a size. */
static int64_t bytes_of(int fd) {
    struct stat status;
    if (fstat(fd, &status) < 0)
        return -errno;
    if (S_ISDIR(status.st_mode))
        return -EISDIR;
    off_t end = lseek(fd, 0, SEEK_END);
    return end < 0 ? -errno : end;
}

int image_open(const char *path, enum image_use use, struct tbfs_space *space) {
    int fd = open(path, (use == IMAGE_CHANGE ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int64_t bytes = bytes_of(fd);
    int status = bytes < 0 ? (int)bytes : bytes < TBFS_BLOCK_BYTES ? (use == IMAGE_CHANGE ? -ENOSPC : -EINVAL) : 0;
    void *base = MAP_FAILED;
    if (status == 0) {
        int kind = use == IMAGE_CHANGE ? MAP_SHARED : MAP_PRIVATE;
        base = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE, fd, 0);
        status = base == MAP_FAILED ? -errno : 0;
    }
    close(fd);
    if (status == 0)
        *space = (struct tbfs_space){base, (uint64_t)bytes};
    return status;
}

int image_close(const struct tbfs_space *space) {
    int status = msync(space->base, space->bytes, MS_SYNC) < 0 ? -errno : 0;
    munmap(space->base, space->bytes);
    return status;
}
