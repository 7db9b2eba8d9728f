/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One process at a time uses a file. It holds an exclusive flock() of the file itself, which is independent of the
 * file's name and of its log.
 *
 * The lock belongs to an open file description. The program's own description is unsuitable: the program may close it,
 * use flock() on it, or share it with a child. So the library opens the file once more, by name. This also verifies
 * that the name, beside which the log must lie, still refers to this file.
 *
 * A process also locks the log of each file that it uses. Recovery without a mapping locks the log alone. Each lock of
 * the file itself would affect the program: a lock of the program's description replaces the program's flock(), and
 * closing a second descriptor ends the record locks that the process has on the file.
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
    if (request->recover_only)
        return check_name(request, request->fd);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, request->path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    region->lock_fd = fd;
    int status = lock_exclusively(fd);
    return status < 0 ? status : check_name(request, fd);
}

/*
 * Close a locked descriptor, unless it is -1. A child of fork() or posix_spawn() may have a copy of it for a moment,
 * and closing this one would leave the file locked until then. close() of libc is a cancellation point: a thread that
 * ended in it would leave the library's mutexes locked.
 */
void lock_close(int *fd) {
    if (*fd < 0)
        return;
    (void)flock(*fd, LOCK_UN);
    syscall(SYS_close, *fd);
    *fd = -1;
}
