/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *     refused_calls FOLDER BYTES_MAX    calls that a file system must refuse: each returns an error and has no effect
 *
 * BYTES_MAX is the size of the largest file. Reads that begin within the file or behind it stop at the end of the file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 4, BUFFER_BYTES = 1 << 20 };
static const char *const names[FILES] = {"file", "other", "folder", "."};
static off_t most;
static int fd, failures;
static char buffer[BUFFER_BYTES];

#define REFUSED(call, number)                                                                                          \
    do {                                                                                                               \
        struct stat before[FILES];                                                                                     \
        look(before);                                                                                                  \
        errno = 0;                                                                                                     \
        long returned = (long)(call);                                                                                  \
        compare(before, #call, returned, errno, number);                                                               \
    } while (0)

#define IS(call, wanted) is(call, wanted, #call)

static void look(struct stat *status) {
    for (int i = 0; i < FILES; i++)
        if (stat(names[i], &status[i]) < 0)
            memset(&status[i], 0, sizeof(status[i]));
}

static int same(const struct stat *a, const struct stat *b) {
    return a->st_mode == b->st_mode && a->st_uid == b->st_uid && a->st_gid == b->st_gid && a->st_size == b->st_size &&
           a->st_nlink == b->st_nlink && a->st_blocks == b->st_blocks && a->st_mtime == b->st_mtime &&
           a->st_ctime == b->st_ctime && a->st_ino == b->st_ino;
}

static void compare(const struct stat *before, const char *call, long returned, int number, int wanted) {
    struct stat after[FILES];

    look(after);
    if (returned >= 0 || number != wanted)
        printf("%s: returned %ld, %s\n", call, returned, strerrorname_np(number)), failures++;
    for (int i = 0; i < FILES; i++)
        if (!same(&before[i], &after[i]))
            printf("%s changed %s\n", call, names[i]), failures++;
}

static void is(long returned, long wanted, const char *call) {
    if (returned != wanted)
        printf("%s is %ld, not %ld (%s)\n", call, returned, wanted, strerrorname_np(errno)), failures++;
}

static void as_nobody(void) { syscall(SYS_setresuid, -1, 65534, -1); }
static void as_root(void) { syscall(SYS_setresuid, -1, 0, -1); }

/* Calls on an open file, as a user without CAP_FSETID: a write would clear the setuid bit. */
static void refuse_on_file(void) {
    struct rlimit limit = {4096, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
    off_t behind = most;
    int other = open("other", O_RDONLY);

    REFUSED(fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, 4096), EOPNOTSUPP);
    REFUSED(fallocate(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 0, 4096), EOPNOTSUPP);
    REFUSED(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, 4096), EOPNOTSUPP);
    REFUSED(fallocate(fd, FALLOC_FL_INSERT_RANGE, 0, 4096), EOPNOTSUPP);
    REFUSED(fallocate(fd, FALLOC_FL_UNSHARE_RANGE, 0, 4096), EOPNOTSUPP);
    REFUSED(fallocate(fd, 0, 0, 0), EINVAL);
    REFUSED(fallocate(fd, 0, most - 1, 2), EFBIG);
    REFUSED(pwrite(fd, buffer, 1, most), EFBIG);
    REFUSED(ftruncate(fd, most + 1), EFBIG);
    REFUSED(copy_file_range(other, NULL, fd, &behind, 5, 0), EFBIG);
    REFUSED(fchown(fd, 0, 0), EPERM);
    REFUSED(fchmod(fd, 0777), EPERM);
    REFUSED(fsetxattr(fd, "user.x", "1", 1, 0), EOPNOTSUPP);
    setrlimit(RLIMIT_FSIZE, &limit);
    REFUSED(pwrite(fd, buffer, 1, 4096), EFBIG);
    REFUSED(ftruncate(fd, 4097), EFBIG);
    REFUSED(fallocate(fd, 0, 0, 4097), EFBIG);
    setrlimit(RLIMIT_FSIZE, &none);
    close(other);
}

static void refuse_on_names(void) {
    static char name[300];

    memset(name, 'n', 256);
    REFUSED(renameat2(AT_FDCWD, "file", AT_FDCWD, "new", RENAME_WHITEOUT), EINVAL);
    REFUSED(renameat2(AT_FDCWD, "file", AT_FDCWD, "other", RENAME_NOREPLACE), EEXIST);
    REFUSED(renameat2(AT_FDCWD, "file", AT_FDCWD, "new", RENAME_EXCHANGE), ENOENT);
    REFUSED(rename("file", "folder"), EISDIR);
    REFUSED(rename("folder", "file"), ENOTDIR);
    REFUSED(rename("folder", "folder/below"), EINVAL);
    REFUSED(rename("file", name), ENAMETOOLONG);
    REFUSED(link("file", "other"), EEXIST);
    REFUSED(link("folder", "new"), EPERM);
    REFUSED(unlink("folder"), EISDIR);
    REFUSED(rmdir("file"), ENOTDIR);
    REFUSED(rmdir("."), EINVAL);
    REFUSED(mkdir("file", 0755), EEXIST);
    REFUSED(symlink("file", "other"), EEXIST);
    REFUSED(mknod("file", S_IFIFO | 0644, 0), EEXIST);
    REFUSED(open(".", O_TMPFILE | O_RDWR, 0644), EOPNOTSUPP);
    REFUSED(truncate("folder", 0), EISDIR);
}

/* The file that takes all room exists while calls are refused for lack of room. */
static void refuse_without_room(void) {
    int all = open("all", O_RDWR | O_CREAT, 0644);

    for (off_t at = 0, step = 64 << 20; step >= 4096;)
        if (fallocate(all, 0, at, step) == 0)
            at += step;
        else
            step /= 2;
    as_root();
    REFUSED(fallocate(fd, 0, 1 << 20, 4096), ENOSPC);
    REFUSED(pwrite(fd, buffer, 1, 1 << 20), ENOSPC);
    REFUSED(symlink("file", "new"), ENOSPC);
    close(all);
    unlink("all");
}

static void read_to_the_end(void) {
    int big = open("big", O_RDWR | O_CREAT, 0644);

    IS(pread(fd, buffer, 100, 1 << 20), 0);
    IS(pread(fd, buffer, 4096, most - 50), 0);
    IS(pread(fd, buffer, 4096, most), 0);
    IS(pread(fd, buffer, 4096, (off_t)1 << 62), 0);
    IS(pread(fd, buffer, BUFFER_BYTES, 1), 4);
    IS(ftruncate(big, most), 0);
    IS(pread(big, buffer, BUFFER_BYTES, most - 100), 100);
    IS(pread(big, buffer, BUFFER_BYTES, most), 0);
    IS(pwrite(big, buffer, 100, most - 50), 50);
    IS(pread(big, buffer, BUFFER_BYTES, most - 50), 50);
    IS(lseek(big, 0, SEEK_DATA), most - 4096);
    close(big);
    unlink("big");
}

int main(int argc, char **argv) {
    struct timespec old[2] = {{1000, 0}, {1000, 0}};

    if (argc != 3 || chdir(argv[1]) < 0 || chmod(".", 0777) < 0)
        return 2;
    most = atoll(argv[2]);
    signal(SIGXFSZ, SIG_IGN);
    fd = open("file", O_RDWR | O_CREAT, 0644);
    IS(write(fd, "hello", 5), 5);
    IS(pwrite(open("other", O_RDWR | O_CREAT, 0644), "other", 5, 0), 5);
    IS(mkdir("folder", 0755), 0);
    IS(fchmod(fd, 06777), 0);
    IS(futimens(fd, old), 0);
    IS(utimensat(AT_FDCWD, ".", old, 0), 0);
    as_nobody();
    refuse_on_file();
    as_root();
    refuse_on_names();
    refuse_without_room();
    read_to_the_end();
    return failures != 0;
}
