/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One process at a time uses a file. It holds an exclusive flock() of the file itself, which is independent of the
 * file's name and of its log.
 *
 * The lock belongs to an open file description. The program's own description is unsuitable: the program may close it,
 * use flock() on it, or share it with a child. So the library opens the file once more, by name. This also verifies
 * that the name, beside which the log must lie, still refers to this file. Only recovery by open() locks the program's
 * description: it ends before the program receives the descriptor. Closing a second descriptor there would end the
 * record locks that the process has on the file.
 */
#define _GNU_SOURCE
#include "file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns 0, or -EBUSY: another open file description has the lock. */
int lock_exclusively(int fd) {
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    return 0;
}

/* True if the name still refers to the file. A lock on a file that was deleted or replaced before it was locked
 * protects nothing. */
bool path_is_of(const char *path, int fd) {
    struct stat named, given;
    return stat(path, &named) == 0 && fstat(fd, &given) == 0 && named.st_dev == given.st_dev &&
           named.st_ino == given.st_ino;
}

static int check_name(const struct open_request *request, int fd) {
    struct stat status;
    if (!path_is_of(request->path, fd) || !path_is_of(request->path, request->fd))
        return -ENOENT;
    if (fstat(fd, &status) < 0)
        return -errno;
    return status.st_nlink > 1 ? -EMLINK : 0; /* the log lies beside one name only */
}

/* Returns 0, -EBUSY, -ENOENT: the name refers to another file by now, -EMLINK: the file has several names, or an
 * error of open. */
int file_lock(struct region *region, const struct open_request *request) {
    int fd =
        request->recover_only ? request->fd : (int)syscall(SYS_openat, AT_FDCWD, request->path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    region->lock_fd = fd;
    region->lock_is_lent = request->recover_only;
    int status = lock_exclusively(fd);
    return status < 0 ? status : check_name(request, fd);
}

/* A forked child closes the inherited descriptor; the parent keeps the lock. */
void file_unlock(struct region *region) {
    if (region->lock_fd >= 0 && region->lock_is_lent)
        (void)flock(region->lock_fd, LOCK_UN);
    else if (region->lock_fd >= 0)
        close(region->lock_fd);
    region->lock_fd = -1;
}
