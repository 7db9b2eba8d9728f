/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random calls, each made in two folders of different file systems:
 *
 *     twin_folders run ONE OTHER SEED STEPS    each call must return the same in both; then as `compare`
 *     twin_folders compare ONE OTHER           names, modes, links, sizes, contents and targets must be the same
 *     twin_folders compare-mapped ONE OTHER    also compares the contents that a process sees in mapped files
 *
 * In each folder one file is mapped at any time, in ONE with MAP_SYNC. Some steps store to the mapping or read it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES = 12, BYTES_MAX = 100000, MAPPED_BYTES = 1 << 17 };

static uint64_t state;
static int roots[2], maps_all;
static struct {
    int fd;
    uint8_t *bytes;
} mapped[2];

static unsigned draw(unsigned below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}

static void fail(const char *what, const char *where) {
    fprintf(stderr, "twin_folders: %s: %s\n", where, what);
    exit(1);
}

/* ---- The calls: each returns its result, or -errno for an error ---- */

struct step {
    unsigned kind, flags, offset, bytes, mode, fill;
    char path[32], other[32];
};

static long result_of(long returned) { return returned < 0 ? -errno : returned; }

/* Half of all opened files have O_DIRECT, which requires no alignment here. */
static int direct(const struct step *step) { return step->flags & 2 ? O_DIRECT : 0; }

static long at_file(int side, const struct step *step, long (*call)(int side, int fd, const struct step *step)) {
    int flags = O_RDWR | O_NOFOLLOW | (step->flags & 1 ? O_APPEND : 0) | direct(step);
    int fd = openat(roots[side], step->path, flags);
    if (fd < 0)
        return -errno;
    long result = call(side, fd, step);
    close(fd);
    return result;
}

static long write_bytes(int side, int fd, const struct step *step) {
    static uint8_t bytes[BYTES_MAX];
    (void)side;
    for (unsigned i = 0; i < step->bytes; i++)
        bytes[i] = (uint8_t)(step->fill + i * 31 + i / 509);
    return result_of(pwrite(fd, bytes, step->bytes, step->offset));
}

static off_t mapped_size(int side) {
    struct stat status;
    off_t size = fstat(mapped[side].fd, &status) ? 0 : status.st_size;
    return size < MAPPED_BYTES ? size : MAPPED_BYTES;
}

/* The bytes come from the mapped file, which may be the file that is written. */
static long write_mapped(int side, int fd, const struct step *step) {
    unsigned have = mapped[side].bytes ? (unsigned)mapped_size(side) : 0;
    unsigned bytes = step->bytes < have ? step->bytes : have;
    return result_of(pwrite(fd, mapped[side].bytes, bytes, step->offset));
}

static long truncate_file(int side, int fd, const struct step *step) {
    (void)side;
    return result_of(ftruncate(fd, step->offset));
}

static long allocate(int side, int fd, const struct step *step) {
    static const int modes[] = {0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE};
    (void)side;
    return result_of(fallocate(fd, modes[step->mode % 3], step->offset, step->bytes));
}

static long read_bytes(int side, int fd, const struct step *step) {
    static uint8_t bytes[BYTES_MAX];
    (void)side;
    long sum = pread(fd, bytes, step->bytes, step->offset);
    for (long i = 0, count = sum; i < count; i++)
        sum = sum * 31 + bytes[i];
    return sum & INT64_MAX;
}

/* From now on this file is the mapped one. */
static long map_file(int side, const struct step *step) {
    int fd = openat(roots[side], step->path, O_RDWR | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    if (mapped[side].bytes) {
        munmap(mapped[side].bytes, MAPPED_BYTES);
        close(mapped[side].fd);
    }
    int flags = side == 0 ? MAP_SHARED_VALIDATE | MAP_SYNC : MAP_SHARED;
    mapped[side].fd = fd;
    mapped[side].bytes = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (mapped[side].bytes == MAP_FAILED)
        fail(strerror(errno), "mmap");
    return 0;
}

static long store(int side, const struct step *step) {
    off_t size = mapped[side].bytes ? mapped_size(side) : 0;
    for (unsigned i = 0; i < step->bytes % 5000 && step->offset + i < size; i++)
        mapped[side].bytes[step->offset + i] = (uint8_t)(step->fill + i);
    return size;
}

static long look(int side) {
    off_t size = mapped[side].bytes ? mapped_size(side) : 0;
    long sum = size;
    for (off_t i = 0; i < size; i++)
        sum = (sum * 31 + mapped[side].bytes[i]) & INT64_MAX;
    return sum;
}

static long make_call(int side, const struct step *step) {
    int root = roots[side], fd;
    switch (step->kind) {
    case 0:
        fd = openat(root, step->path, O_CREAT | O_EXCL | O_WRONLY | direct(step), 0600 | (step->mode & 077));
        return fd < 0 ? -errno : (close(fd), 0);
    case 1:
        return result_of(mkdirat(root, step->path, 0700));
    case 2:
        return result_of(symlinkat(step->other, root, step->path));
    case 3:
        return result_of(linkat(root, step->path, root, step->other, 0));
    case 4:
        return result_of(unlinkat(root, step->path, 0));
    case 5:
        return result_of(unlinkat(root, step->path, AT_REMOVEDIR));
    case 6:
        return result_of(renameat2(root, step->path, root, step->other, step->flags % 3));
    case 7:
        return result_of(fchmodat(root, step->path, 0600 | (step->mode & 077), 0));
    case 8:
        return map_file(side, step);
    case 9:
        return at_file(side, step, truncate_file);
    case 10:
        return at_file(side, step, allocate);
    case 11:
        return at_file(side, step, read_bytes);
    case 12:
        return at_file(side, step, write_mapped);
    case 13:
    case 14:
        return store(side, step);
    case 15:
        return look(side);
    default:
        return at_file(side, step, write_bytes);
    }
}

enum { KINDS = 20 };

/* ---- Comparison ---- */

static int same_content(int one, int other, const char *path) {
    static uint8_t bytes[2][1 << 16];
    int fds[2] = {openat(one, path, O_RDONLY), openat(other, path, O_RDONLY)};
    ssize_t counts[2];
    do
        for (int side = 0; side < 2; side++)
            counts[side] = read(fds[side], bytes[side], sizeof(bytes[side]));
    while (counts[0] > 0 && counts[0] == counts[1] && memcmp(bytes[0], bytes[1], (size_t)counts[0]) == 0);
    close(fds[0]);
    close(fds[1]);
    return counts[0] == 0 && counts[1] == 0;
}

/* Every second page is a private copy, because the process has stored to it. */
static int same_mapping(int one, int other, const char *path, size_t size) {
    int fds[2] = {openat(one, path, O_RDONLY), openat(other, path, O_RDONLY)};
    uint8_t *bytes[2];
    for (int side = 0; side < 2; side++) {
        bytes[side] = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fds[side], 0);
        if (bytes[side] == MAP_FAILED)
            fail(strerror(errno), path);
        for (size_t at = 0; at < size; at += 8192)
            ++*(volatile uint8_t *)(bytes[side] + at);
    }
    int same = memcmp(bytes[0], bytes[1], size) == 0;
    for (int side = 0; side < 2; side++) {
        munmap(bytes[side], size);
        close(fds[side]);
    }
    return same;
}

static int same_target(int one, int other, const char *path) {
    char targets[2][64];
    ssize_t count = readlinkat(one, path, targets[0], 64);
    return count > 0 && count == readlinkat(other, path, targets[1], 64) &&
           memcmp(targets[0], targets[1], (size_t)count) == 0;
}

static void compare(int one, int other, const char *path);

static void compare_folders(int one, int other, const char *path) {
    struct dirent **names[2];
    int counts[2] = {scandirat(one, path, &names[0], NULL, alphasort),
                     scandirat(other, path, &names[1], NULL, alphasort)};
    if (counts[0] < 0 || counts[0] != counts[1])
        fail("other entries", path);
    for (int i = 0; i < counts[0]; i++) {
        char below[256];
        const char *name = names[0][i]->d_name;
        if (strcmp(name, names[1][i]->d_name) || names[0][i]->d_type != names[1][i]->d_type)
            fail("another name or kind", path);
        snprintf(below, sizeof(below), "%s/%.60s", path, name);
        if (strcmp(name, ".") && strcmp(name, ".."))
            compare(one, other, below);
    }
}

static void compare(int one, int other, const char *path) {
    struct stat status[2];
    if (fstatat(one, path, &status[0], AT_SYMLINK_NOFOLLOW) || fstatat(other, path, &status[1], AT_SYMLINK_NOFOLLOW))
        fail(strerror(errno), path);
    if (status[0].st_mode != status[1].st_mode || status[0].st_nlink != status[1].st_nlink)
        fail("another mode or number of links", path);
    if (S_ISDIR(status[0].st_mode))
        return compare_folders(one, other, path);
    if (status[0].st_size != status[1].st_size)
        fail("another size", path);
    if (!(S_ISLNK(status[0].st_mode) ? same_target : same_content)(one, other, path))
        fail("another content", path);
    if (maps_all && S_ISREG(status[0].st_mode) && status[0].st_size &&
        !same_mapping(one, other, path, (size_t)status[0].st_size))
        fail("another content where it is mapped", path);
}

/* ---- The run ---- */

static void draw_path(char *path, size_t bytes) {
    static const char *const folders[] = {"", "", "d0/", "d1/", "d0/d1/"};
    int is_folder = draw(5) == 0;
    snprintf(path, bytes, "%s%c%u", folders[draw(5)], is_folder ? 'd' : 'f', draw(is_folder ? 3 : NAMES));
}

static void run(unsigned steps) {
    for (unsigned i = 0; i < steps; i++) {
        struct step step = {
            draw(KINDS), draw(16), draw(BYTES_MAX), 1 + draw(BYTES_MAX / (1 + draw(100))), draw(64), draw(256), "", ""};
        draw_path(step.path, sizeof(step.path));
        draw_path(step.other, sizeof(step.other));
        long results[2] = {make_call(0, &step), make_call(1, &step)};
        if (results[0] != results[1]) {
            char what[160];
            snprintf(what, sizeof(what), "call %u of kind %u (%s, %u bytes at %u): %ld, but %ld", i, step.kind,
                     step.other, step.bytes, step.offset, results[0], results[1]);
            fail(what, step.path);
        }
    }
}

int main(int argc, char **argv) {
    int runs = argc == 6 && strcmp(argv[1], "run") == 0;
    maps_all = argc == 4 && strcmp(argv[1], "compare-mapped") == 0;
    if (!runs && !maps_all && !(argc == 4 && strcmp(argv[1], "compare") == 0))
        return fputs("usage: twin_folders run ONE OTHER SEED STEPS | compare[-mapped] ONE OTHER\n", stderr), 2;
    for (int side = 0; side < 2; side++)
        if ((roots[side] = open(argv[2 + side], O_RDONLY | O_DIRECTORY)) < 0)
            fail(strerror(errno), argv[2 + side]);
    umask(0);
    if (runs) {
        state = strtoull(argv[4], NULL, 10);
        run((unsigned)atoi(argv[5]));
    }
    compare(roots[0], roots[1], ".");
    return 0;
}
