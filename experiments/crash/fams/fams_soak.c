/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Seeded random commits of /dev/fams, for many power cuts. A page that a commit stores to is filled with numbers that
 * no other page and no other commit has. The seed determines the content of the pages after any number of commits.
 *
 *     fams_soak make DEVICE           a new store
 *     fams_soak run DEVICE COMMITS    the commits; mark 0 before the first, and one after each
 *     fams_soak check DEVICE MARK     opens the store after a power cut: it must have MARK commits, or one more;
 *                                     prints the time of opening, recovery included
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fams_ioctl.h"
#include "testbed_roi.h"

enum { PAGE_BYTES = 4096, PAGES = 64, PAGES_MAX = 12, JOURNAL_BYTES = 32 * PAGE_BYTES, SEED = 20130415 };

static void fail(const char *what) {
    perror(what);
    exit(2);
}

static uint64_t mixed(uint64_t value) {
    value += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

/* The n-th commit: how many pages, which, and whether it is declared first, or stored to in vain before. */
static int pages_of(int n) { return 1 + (int)(mixed((uint64_t)SEED + (uint64_t)n) % PAGES_MAX); }
static int page_of(int n, int i) { return (int)((mixed((uint64_t)SEED * 3 + (uint64_t)n) + (uint64_t)i * 29) % PAGES); }
static int declares(int n) { return mixed((uint64_t)SEED * 5 + (uint64_t)n) % 4 == 0; }
static int rolls_back(int n) { return mixed((uint64_t)SEED * 7 + (uint64_t)n) % 4 == 0; }

static void fill(uint64_t *words, int page, int commit) {
    for (int i = 0; i < PAGE_BYTES / 8; i++)
        words[i] = (uint64_t)commit << 32 | (uint64_t)page << 16 | (uint64_t)i;
}

static void store(uint8_t *data, int n, int commit) {
    for (int i = 0; i < pages_of(n); i++)
        fill((uint64_t *)(data + page_of(n, i) * PAGE_BYTES), page_of(n, i), commit);
}

static void expect(uint8_t *data, int commits) {
    for (int page = 0; page < PAGES; page++)
        fill((uint64_t *)(data + page * PAGE_BYTES), page, 0);
    for (int n = 0; n < commits; n++)
        store(data, n, n + 1);
}

static int attached(const char *path, unsigned flags) {
    struct fams_attach attach = {.device = open(path, O_RDWR), .flags = flags, .journal_bytes = JOURNAL_BYTES};
    int fams = open("/dev/fams", O_RDWR);
    if (attach.device < 0 || fams < 0)
        fail("open");
    if (ioctl(fams, FAMS_ATTACH, &attach) < 0)
        fail("FAMS_ATTACH");
    close(attach.device);
    return fams;
}

static uint8_t *mapped(int fams) {
    uint8_t *data = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fams, 0);
    if (data == MAP_FAILED)
        fail("mmap");
    return data;
}

static void commit(uint8_t *data) {
    if (msync(data, PAGES * PAGE_BYTES, MS_SYNC) < 0)
        fail("msync");
}

/* No commit has room for all pages. */
static void make(const char *device) {
    uint8_t *data = mapped(attached(device, FAMS_NEW));
    for (int page = 0; page < PAGES; page++) {
        fill((uint64_t *)(data + page * PAGE_BYTES), page, 0);
        commit(data);
    }
}

static void run(const char *device, int commits) {
    int fams = attached(device, 0);
    uint8_t *data = mapped(fams);
    struct fams_range all = {0, PAGES * PAGE_BYTES};
    testbed_mark(0);
    for (int n = 0; n < commits; n++) {
        if (rolls_back(n)) {
            store(data, n + 1, -1);
            if (ioctl(fams, FAMS_ROLLBACK, &all) < 0)
                fail("FAMS_ROLLBACK");
        }
        store(data, n, n + 1);
        if (declares(n) && ioctl(fams, FAMS_DECLARE, &all) < 0)
            fail("FAMS_DECLARE");
        commit(data);
        testbed_mark((uint32_t)n + 1);
    }
}

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static int check(const char *device, int mark) {
    static uint8_t expected[PAGES * PAGE_BYTES];
    testbed_roi_begin(1);
    uint64_t begin_ns = now_ns();
    int fams = attached(device, 0);
    uint64_t took_ns = now_ns() - begin_ns;
    testbed_roi_end();
    uint8_t *data = mapped(fams);
    fprintf(stderr, "measured recovery_ns %lu\n", took_ns);
    for (int commits = mark; commits <= mark + 1; commits++) {
        expect(expected, commits);
        if (!memcmp(data, expected, sizeof(expected)))
            return 0;
    }
    fprintf(stderr, "neither the data of %d commits nor of %d\n", mark, mark + 1);
    return 1;
}

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "make"))
        make(argv[2]);
    else if (argc == 4 && !strcmp(argv[1], "run"))
        run(argv[2], atoi(argv[3]));
    else if (argc == 4 && !strcmp(argv[1], "check"))
        return check(argv[2], atoi(argv[3]));
    else
        return 2;
    return 0;
}
