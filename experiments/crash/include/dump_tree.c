/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dump-tree [--times] FOLDER...: a line for each file below, by name: its kind and mode, links, owner, size, content as
 * a hash, target, and a line for each extended attribute. No reader can distinguish two trees with equal dumps.
 *
 * Times are left out, except the time of the last write with --times, and so are the sizes of folders, which depend on
 * the file system's format.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { ATTRIBUTES_BYTES = 1 << 16 };

static const uint64_t FNV_BASIS = 0xcbf29ce484222325, FNV_PRIME = 0x100000001b3;

static int with_times, failed;

static uint64_t hash(uint64_t so_far, const unsigned char *bytes, ssize_t count) {
    for (ssize_t i = 0; i < count; i++)
        so_far = (so_far ^ bytes[i]) * FNV_PRIME;
    return so_far;
}

/* An unreadable file is part of the state, so its error is printed; the errors' numbers are Linux's own. */
static void print_error(const char *what) {
    printf(" %s: error %d", what, errno);
    failed = 1;
}

static void print_content(const char *path) {
    static unsigned char bytes[1 << 16];
    uint64_t sum = FNV_BASIS;
    ssize_t count = -1;
    int fd = open(path, O_RDONLY | O_NOFOLLOW);

    if (fd >= 0) {
        while ((count = read(fd, bytes, sizeof(bytes))) > 0)
            sum = hash(sum, bytes, count);
        close(fd);
    }
    if (count < 0)
        print_error("content");
    else
        printf(" content %016" PRIx64, sum);
}

static void print_target(const char *path) {
    char target[PATH_MAX];
    ssize_t count = readlink(path, target, sizeof(target));

    if (count < 0)
        print_error("target");
    else
        printf(" -> %.*s", (int)count, target);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void print_attributes(const char *path) {
    static char names[ATTRIBUTES_BYTES];
    static unsigned char value[ATTRIBUTES_BYTES];
    static char *sorted[ATTRIBUTES_BYTES];
    ssize_t bytes = llistxattr(path, names, sizeof(names));
    size_t count = 0;

    for (char *name = names; name < names + bytes; name += strlen(name) + 1)
        sorted[count++] = name;
    qsort(sorted, count, sizeof(*sorted), by_name);
    for (size_t i = 0; i < count; i++) {
        ssize_t size = lgetxattr(path, sorted[i], value, sizeof(value));
        printf("%s xattr %s %zd bytes %016" PRIx64 "\n", path, sorted[i], size, hash(FNV_BASIS, value, size));
    }
}

static const char *kind_of(mode_t mode) {
    return S_ISREG(mode)    ? "file"
           : S_ISDIR(mode)  ? "folder"
           : S_ISLNK(mode)  ? "symlink"
           : S_ISFIFO(mode) ? "fifo"
           : S_ISSOCK(mode) ? "socket"
                            : "device";
}

static void dump(const char *path);

static void dump_entries(const char *path) {
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);

    if (count < 0) {
        printf("%s cannot be listed: error %d\n", path, errno);
        failed = 1;
    }
    for (int i = 0; i < count; i++) {
        char below[PATH_MAX];
        int length = snprintf(below, sizeof(below), "%s/%s", path, entries[i]->d_name);
        if (strcmp(entries[i]->d_name, ".") && strcmp(entries[i]->d_name, "..") && length < (int)sizeof(below))
            dump(below);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

static void dump(const char *path) {
    struct stat found;

    printf("%s", path);
    if (lstat(path, &found)) {
        print_error("");
        printf("\n");
        return;
    }
    printf(" %s %04o links %lu owner %u:%u", kind_of(found.st_mode), found.st_mode & 07777, found.st_nlink,
           found.st_uid, found.st_gid);
    if (!S_ISDIR(found.st_mode))
        printf(" size %ld", found.st_size);
    if (S_ISREG(found.st_mode))
        print_content(path);
    if (S_ISLNK(found.st_mode))
        print_target(path);
    if (with_times)
        printf(" written %ld.%09ld", found.st_mtim.tv_sec, found.st_mtim.tv_nsec);
    printf("\n");
    print_attributes(path);
    if (S_ISDIR(found.st_mode))
        dump_entries(path);
}

int main(int argc, char **argv) {
    int first = argc > 1 && !strcmp(argv[1], "--times") ? 2 : 1;

    with_times = first == 2;
    if (first == argc) {
        fprintf(stderr, "usage: dump-tree [--times] FOLDER...\n");
        return 2;
    }
    for (int i = first; i < argc; i++)
        dump(argv[i]);
    if (failed)
        fprintf(stderr, "dump-tree: some of it cannot be read\n");
    return failed;
}
