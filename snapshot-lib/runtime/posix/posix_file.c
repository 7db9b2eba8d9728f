/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of the size and name of tracked files, which the log must follow. A file is tracked while it is mapped, but
 * its log stays beside it afterwards; changes to the file must not be mistaken for a crash then.
 */
#define _GNU_SOURCE
#include "posix.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A descriptor for reading and writing, or -1 if `fd` is one. The library closes it by the system call: close() would
 * be a cancellation point in calls that are none. */
static int own_descriptor(int fd, const char *path) {
    bool has_both = (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
    return has_both ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
}

/* Resize a file that is not mapped but has a log beside it: recover, resize, close. */
static int resize_closed(int fd, const char *path, uint64_t bytes) {
    struct stat status;
    struct region *region = NULL;
    if (fstat(fd, &status) < 0)
        return -errno;
    if ((uint64_t)status.st_size == bytes)
        return 0;
    int own = own_descriptor(fd, path);
    int writable = own < 0 ? fd : own;
    int result = file_open(writable, path, 0, NULL, bytes, &region);
    if (result == 0) {
        result = region_resize(region, writable, bytes);
        region_close(region);
    }
    if (own >= 0)
        syscall(SYS_close, own);
    return result;
}

static int resize_untracked(int fd, const char *name, off_t bytes) {
    char path[PATH_MAX];
    if (bytes >= 0 && path_of(fd, path) && has_log(path))
        return posix_result(resize_closed(fd, path, (uint64_t)bytes));
    return name ? (int)syscall(SYS_truncate, name, bytes) : (int)syscall(SYS_ftruncate, fd, bytes);
}

static int resize_tracked(struct region *region, int fd, off_t bytes) {
    if (bytes < 0)
        return -EINVAL;
    contents_take(region);
    int status = region_resize(region, fd, (uint64_t)bytes);
    contents_release(region);
    return status;
}

/* Take the lock of all files, so that no other thread maps this file. False: the file is tracked by now. */
static bool lock_untracked(int fd) {
    regions_lock();
    if (!region_of_file(fd))
        return true;
    regions_unlock();
    return false;
}

/* By the descriptor, or by the name, for which O_PATH opened the descriptor. */
static int resize(int fd, const char *name, off_t bytes) {
    for (;;) {
        USE_REGION(region, region_use(fd));
        if (region)
            return posix_result(resize_tracked(region, name ? region->lock_fd : fd, bytes));
        if (!lock_untracked(fd))
            continue;
        int result = resize_untracked(fd, name, bytes);
        regions_unlock();
        return result;
    }
}

int INTERPOSED(ftruncate)(int fd, off_t bytes) { return resize(fd, NULL, bytes); }

/* Closing a descriptor ends the record locks that the process has on the file, unless O_PATH opened it. */
int INTERPOSED(truncate)(const char *name, off_t bytes) {
    int fd = faccessat(AT_FDCWD, name, W_OK, AT_EACCESS) < 0
                 ? -1
                 : (int)syscall(SYS_openat, AT_FDCWD, name, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int result = resize(fd, name, bytes), error = errno;
    idle_closing();
    syscall(SYS_close, fd);
    idle_check(); /* the program may have closed its last descriptor meanwhile */
    errno = error;
    return result;
}

/* Plain allocation changes no logged content. Modes that move or clear bytes fail with EOPNOTSUPP. */
static int allocate_tracked(struct region *region, int fd, int mode, off_t offset, off_t bytes) {
    if (mode & ~FALLOC_FL_KEEP_SIZE)
        return -EOPNOTSUPP;
    if (offset < 0 || bytes <= 0)
        return -EINVAL;
    contents_take(region);
    int status = syscall(SYS_fallocate, fd, FALLOC_FL_KEEP_SIZE, offset, bytes) < 0 ? -errno : 0;
    if (status == 0 && !(mode & FALLOC_FL_KEEP_SIZE) && (uint64_t)(offset + bytes) > region->bytes)
        status = region_resize(region, fd, (uint64_t)(offset + bytes));
    contents_release(region);
    return status;
}

int INTERPOSED(fallocate)(int fd, int mode, off_t offset, off_t bytes) {
    for (;;) {
        USE_REGION(region, region_use(fd));
        if (region)
            return posix_result(allocate_tracked(region, fd, mode, offset, bytes));
        if (!lock_untracked(fd))
            continue;
        int result = (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
        regions_unlock();
        return result;
    }
}

int INTERPOSED(posix_fallocate)(int fd, off_t offset, off_t bytes) {
    int saved = errno;
    int error = INTERPOSED(fallocate)(fd, 0, offset, bytes) < 0 ? errno : 0;
    errno = saved;
    return error;
}

/*
 * Recover a file before the program can read it: programs look at a header before they map. If recovery is refused,
 * mmap reports the reason.
 */
static void recover_closed(int fd) {
    char path[PATH_MAX];
    if (region_of_file(fd) || !path_of(fd, path) || !has_log(path))
        return;
    int own = own_descriptor(fd, path);
    (void)region_recover(own < 0 ? fd : own, path);
    if (own >= 0)
        syscall(SYS_close, own);
}

/* One bit for each descriptor with a file that needs no recovery any more. Higher descriptors are checked each time. */
#define LOOKED_AT_MAX 65536u
static _Atomic uint8_t looked_at[LOOKED_AT_MAX / 8];

/* A descriptor that was inherited, received, or opened within libc is checked before its first read or write. */
void descriptor_look(int fd) {
    unsigned number = (unsigned)fd, bit = 1u << number % 8;
    if (number < LOOKED_AT_MAX)
        if (atomic_load_explicit(&looked_at[number / 8], memory_order_acquire) & bit)
            return;
    int saved = errno;
    recover_closed(fd);
    errno = saved;
    if (number < LOOKED_AT_MAX)
        atomic_fetch_or(&looked_at[number / 8], (uint8_t)bit);
}

void descriptors_forget(int first, unsigned last) {
    for (unsigned fd = first < 0 ? LOOKED_AT_MAX : (unsigned)first; fd <= last && fd < LOOKED_AT_MAX; fd++)
        atomic_fetch_and(&looked_at[fd / 8], (uint8_t)~(1u << fd % 8));
}

/* O_TRUNC cuts the file to size 0. The log must follow, so the cut is done by ftruncate(). */
static int open_at(int folder, const char *path, int flags, mode_t mode) {
    struct stat status;
    bool cuts = (flags & O_TRUNC) && (flags & O_ACCMODE) != O_RDONLY;
    int fd = (int)syscall(SYS_openat, folder, path, cuts ? flags & ~O_TRUNC : flags, mode);
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return fd;
    descriptors_forget(fd, (unsigned)fd);
    descriptor_look(fd);
    if (!cuts || INTERPOSED(ftruncate)(fd, 0) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

int INTERPOSED(unlink)(const char *path) {
    char log_path[PATH_MAX];
    regions_lock(); /* no thread opens the file and makes a log meanwhile */
    bool has_log = log_path_of(path, log_path);
    int result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (result == 0 && has_log)
        (void)syscall(SYS_unlinkat, AT_FDCWD, log_path, 0);
    regions_unlock();
    return result;
}

/* Make a path that means the same without `folder`. */
static int path_at(int folder, const char *path, char out[PATH_MAX]) {
    int length = path[0] == '/' || folder == AT_FDCWD ? snprintf(out, PATH_MAX, "%s", path)
                                                      : snprintf(out, PATH_MAX, "/proc/self/fd/%d/%s", folder, path);
    return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int INTERPOSED(unlinkat)(int folder, const char *path, int flags) {
    char full[PATH_MAX];
    if (flags || path_at(folder, path, full) < 0)
        return (int)syscall(SYS_unlinkat, folder, path, flags);
    return INTERPOSED(unlink)(full);
}

int INTERPOSED(remove)(const char *path) {
    int saved = errno;
    if (INTERPOSED(unlink)(path) == 0)
        return 0;
    if (errno != EISDIR)
        return -1;
    errno = saved;
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

static int kernel_rename(const char *old_path, const char *new_path, unsigned flags) {
    return (int)syscall(SYS_renameat2, AT_FDCWD, old_path, AT_FDCWD, new_path, flags);
}

/*
 * The log has both names while the file moves from one to the other, so that a crash never separates file and log. If
 * the file that is replaced has a log, a crash can leave that log beside the new file; opening is refused then.
 */
static int rename_both(const char *old_path, const char *new_path, unsigned flags) {
    char old_log[PATH_MAX], new_log[PATH_MAX];
    regions_lock(); /* no thread opens one of the files and makes a log meanwhile */
    bool moves_log = log_path_of(old_path, old_log), replaces_log = log_path_of(new_path, new_log);
    bool linked = moves_log && syscall(SYS_linkat, AT_FDCWD, old_log, AT_FDCWD, new_log, 0) == 0;
    int result = kernel_rename(old_path, new_path, flags);
    int error = errno;
    if (result < 0 && linked)
        (void)syscall(SYS_unlinkat, AT_FDCWD, new_log, 0);
    else if (result == 0 && linked)
        (void)syscall(SYS_unlinkat, AT_FDCWD, old_log, 0);
    else if (result == 0 && moves_log)
        (void)kernel_rename(old_log, new_log, 0);
    else if (result == 0 && replaces_log)
        (void)syscall(SYS_unlinkat, AT_FDCWD, new_log, 0);
    regions_unlock();
    errno = error;
    return result;
}

int INTERPOSED(rename)(const char *old_path, const char *new_path) { return rename_both(old_path, new_path, 0); }

/* Flags other than RENAME_NOREPLACE fail if there is a log: two logs cannot be exchanged with their files in one
 * step. */
int INTERPOSED(renameat2)(int old_folder, const char *old_path, int new_folder, const char *new_path, unsigned flags) {
    char from[PATH_MAX], to[PATH_MAX], log_path[PATH_MAX];
    if (path_at(old_folder, old_path, from) < 0 || path_at(new_folder, new_path, to) < 0)
        return posix_result(-ENAMETOOLONG);
    if (!(flags & ~RENAME_NOREPLACE))
        return rename_both(from, to, flags);
    if (log_path_of(from, log_path) || log_path_of(to, log_path))
        return posix_result(-EINVAL);
    return kernel_rename(from, to, flags);
}

int INTERPOSED(renameat)(int old_folder, const char *old_path, int new_folder, const char *new_path) {
    return INTERPOSED(renameat2)(old_folder, old_path, new_folder, new_path, 0);
}

#define SAME(name, of, parameters, arguments)                                                                          \
    int INTERPOSED(name) parameters;                                                                                   \
    int INTERPOSED(name) parameters { return INTERPOSED(of) arguments; }

SAME(ftruncate64, ftruncate, (int fd, off_t bytes), (fd, bytes))
SAME(truncate64, truncate, (const char *path, off_t bytes), (path, bytes))
SAME(fallocate64, fallocate, (int fd, int mode, off_t offset, off_t bytes), (fd, mode, offset, bytes))
SAME(posix_fallocate64, posix_fallocate, (int fd, off_t offset, off_t bytes), (fd, offset, bytes))

/* The caller passes `mode` only if the call may create a file. */
#define OPEN(name, parameters, folder, large)                                                                          \
    int INTERPOSED(name) parameters;                                                                                   \
    int INTERPOSED(name) parameters {                                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;                                   \
        va_end(arguments);                                                                                             \
        return open_at(folder, path, flags | (large), mode);                                                           \
    }

OPEN(open, (const char *path, int flags, ...), AT_FDCWD, 0)
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, O_LARGEFILE)
OPEN(openat, (int folder, const char *path, int flags, ...), folder, 0)
OPEN(openat64, (int folder, const char *path, int flags, ...), folder, O_LARGEFILE)

/* _FORTIFY_SOURCE replaces calls without a mode by these. */
SAME(__open_2, open, (const char *path, int flags), (path, flags))
SAME(__open64_2, open64, (const char *path, int flags), (path, flags))
SAME(__openat_2, openat, (int folder, const char *path, int flags), (folder, path, flags))
SAME(__openat64_2, openat64, (int folder, const char *path, int flags), (folder, path, flags))

int INTERPOSED(creat)(const char *path, mode_t mode) {
    return open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}
int INTERPOSED(creat64)(const char *path, mode_t mode) {
    return open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_LARGEFILE, mode);
}
