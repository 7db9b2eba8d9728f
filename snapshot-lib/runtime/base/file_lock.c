/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One process at a time: an exclusive flock() of the file itself, whatever its name and whatever becomes of its log.
 *
 * The lock belongs to an open file description, and the program's own is no place for it: the program may close it,
 * lock it for itself, or share it with a child. So the file is opened once more, by its name; that shows that the name
 * is still this file's, beside which its log has to be. Only recovery by open(), which is over before the program has
 * the descriptor, locks that one: to close another would end the record locks that the process has on the file.
 */
#define _GNU_SOURCE
#include "file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "seeded_bug.h"

/* 0, or -EBUSY: another open file description has the lock. */
int lock_exclusively(int fd) {
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    return 0;
}

/* A lock is worth nothing on a file that went, or was replaced, before it was there. */
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
    return status.st_nlink > 1 ? -EMLINK : 0; /* beside which of its names is the log? */
}

/* 0, -EBUSY, -ENOENT the name is another file's by now, -EMLINK it has several names, or what open returns. */
int file_lock(struct region *region, const struct open_request *request) {
    int fd =
        request->recover_only ? request->fd : (int)syscall(SYS_openat, AT_FDCWD, request->path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    region->lock_fd = fd;
    region->lock_is_lent = request->recover_only;
    int status = SEEDED_BUG(NO_FILE_LOCK) || SEEDED_BUG(LOCK_LOG_ONLY) ? 0 : lock_exclusively(fd);
    return status < 0 ? status : check_name(request, fd);
}

/* A forked child closes what it inherited, and the parent keeps the lock. */
void file_unlock(struct region *region) {
    if (region->lock_fd >= 0 && region->lock_is_lent)
        (void)flock(region->lock_fd, LOCK_UN);
    else if (region->lock_fd >= 0)
        close(region->lock_fd);
    region->lock_fd = -1;
}
