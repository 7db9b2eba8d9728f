/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether XFS exchanges the blocks of two files on DAX, as an engine of failure-atomic updates would need it:
 *
 *     xfs_exchange make FILE     a file of 64 pages; updates of every n-th page, each checked
 *     xfs_exchange check FILE    after a power cut: the file must have the last update, and nothing else
 *
 * Each finding is a line that begins with its name. An update writes pages into a file without a name, at the offsets
 * that they have in FILE. One call then exchanges all written pages. Status 1: a page has wrong content.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/stat.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 64, BYTES = PAGES * PAGE, ROUNDS = 8 };

/* The kernel's structure since Linux 6.10; the host of the build may have older headers. */
struct exchange {
    int32_t file1_fd;
    uint32_t zero;
    uint64_t file1_offset, file2_offset, length, flags;
};
#define EXCHANGE_CALL _IOW('X', 129, struct exchange)
enum { DURABLE = 1 << 1, WRITTEN_ONLY = 1 << 3 };

static void *shared;         /* a mapping of the file, which an exchange must change, too */
static char expected[PAGES]; /* the letter that fills each page */

static void must(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "%s: %s\n", what, strerror(errno));
        exit(2);
    }
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void page_write(int fd, int page, char letter) {
    char bytes[PAGE];
    memset(bytes, letter, PAGE);
    must(pwrite(fd, bytes, PAGE, (off_t)page * PAGE) == PAGE, "write");
}

/* By reading, and through the mapping if there is one. */
static bool holds_expected(int fd) {
    char bytes[PAGE], wanted[PAGE];
    bool holds = true;
    for (int page = 0; page < PAGES; page++) {
        memset(wanted, expected[page], PAGE);
        must(pread(fd, bytes, PAGE, (off_t)page * PAGE) == PAGE, "read");
        bool is_read = memcmp(bytes, wanted, PAGE) == 0;
        bool is_mapped = !shared || memcmp((char *)shared + page * PAGE, wanted, PAGE) == 0;
        if (!is_read || !is_mapped)
            printf("page %d: %c, not %c%s\n", page, bytes[0], expected[page], is_read ? " in the mapping" : "");
        holds = holds && is_read && is_mapped;
    }
    return holds;
}

/*
 * Fill every `step`th page with `letter`. The staging file then contains the old pages, and a punch removes them so
 * that the next exchange does not bring them back.
 */
static int update(int pool, int staging, int step, char letter) {
    for (int page = 0; page < PAGES; page += step)
        page_write(staging, page, letter);
    struct exchange all = {.file1_fd = staging, .length = BYTES, .flags = WRITTEN_ONLY | DURABLE};
    if (ioctl(pool, EXCHANGE_CALL, &all) < 0)
        return -errno;
    for (int page = 0; page < PAGES; page += step)
        expected[page] = letter;
    must(fallocate(staging, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, BYTES) == 0, "punch");
    return 0;
}

static void letters_of(int round, int *step, char *letter) {
    const int steps[] = {1, 2, 3, 5, 8, 16, 32, 64};
    *step = steps[round % 8];
    *letter = (char)('a' + round);
}

static bool is_dax(const char *path) {
    struct statx known;
    must(statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &known) == 0, "statx");
    return known.stx_attributes & STATX_ATTR_DAX;
}

static int make(const char *path) {
    char folder[4096];
    snprintf(folder, sizeof(folder), "%s", path);
    int pool = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), staging = open(dirname(folder), O_RDWR | O_TMPFILE, 0600);
    must(pool >= 0 && staging >= 0, "open");
    for (int page = 0; page < PAGES; page++)
        page_write(pool, page, expected[page] = 'o');
    must(ftruncate(staging, BYTES) == 0 && fsync(pool) == 0, "size");
    printf("dax %s\n", is_dax(path) ? "yes" : "no");
    shared = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, pool, 0);
    must(shared != MAP_FAILED, "mmap");
    for (int round = 0; round < ROUNDS; round++) {
        int step;
        char letter;
        letters_of(round, &step, &letter);
        uint64_t begin_ns = now_ns();
        int status = update(pool, staging, step, letter);
        if (status < 0) {
            printf("refused %s\n", strerror(-status));
            return 1;
        }
        printf("pages %d ns %lu\n", (PAGES + step - 1) / step, (unsigned long)(now_ns() - begin_ns));
        if (!holds_expected(pool))
            return 1;
    }
    puts("exchanged");
    return 0;
}

static int check(const char *path) {
    int pool = open(path, O_RDONLY);
    must(pool >= 0, "open");
    for (int round = 0; round < ROUNDS; round++) {
        int step;
        char letter;
        letters_of(round, &step, &letter);
        for (int page = 0; page < PAGES; page += step)
            expected[page] = letter;
    }
    puts(holds_expected(pool) ? "kept" : "lost");
    return 0;
}

int main(int argc, char **argv) {
    bool is_make = argc == 3 && strcmp(argv[1], "make") == 0, is_check = argc == 3 && strcmp(argv[1], "check") == 0;
    if (!is_make && !is_check) {
        fputs("usage: xfs_exchange make|check FILE\n", stderr);
        return 2;
    }
    return is_make ? make(argv[2]) : check(argv[2]);
}
