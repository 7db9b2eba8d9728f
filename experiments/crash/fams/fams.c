/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commits of /dev/fams, each of whole pages that are stored to before it. Each is there as a whole or not at all, and
 * one that has returned is there.
 *
 *     fams make DEVICE            a new store; the first pages have content
 *     fams run DEVICE             the commits; mark 0 before the first, and one after each
 *     fams check DEVICE MARK      opens the store after a power cut: it must have MARK commits, or one more
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fams_ioctl.h"
#include "testbed_roi.h"

enum { PAGE_BYTES = 4096, PAGES = 6, JOURNAL_BYTES = 16 * PAGE_BYTES };

/* The pages to which a commit stores. Pages come again, so that sets and data differ. */
static const struct commit {
    int first, count;
    enum { SYNC, DECLARED, ROLLED_BACK } how;
} commits[] = {{0, 1, SYNC},        {1, 2, SYNC}, {0, 3, SYNC}, {2, 2, DECLARED},
               {0, 2, ROLLED_BACK}, {4, 1, SYNC}, {0, 2, SYNC}};
enum { COMMITS = sizeof(commits) / sizeof(commits[0]) };

static void fail(const char *what) {
    perror(what);
    exit(2);
}

/* Every line of the page differs from those of other pages and other commits. */
static void fill(uint8_t *page, int number, int commit) {
    uint64_t *words = (uint64_t *)page;
    for (int i = 0; i < PAGE_BYTES / 8; i++)
        words[i] = (uint64_t)commit << 32 | (uint64_t)number << 16 | (uint64_t)i;
}

static void expect(uint8_t *pages, int count) {
    for (int i = 0; i < PAGES; i++)
        fill(pages + i * PAGE_BYTES, i, 0);
    for (int n = 0; n < count; n++)
        for (int i = 0; commits[n].how != ROLLED_BACK && i < commits[n].count; i++)
            fill(pages + (commits[n].first + i) * PAGE_BYTES, commits[n].first + i, n + 1);
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

static void make(const char *device) {
    int fams = attached(device, FAMS_NEW);
    expect(mapped(fams), 0);
    if (fsync(fams) < 0)
        fail("fsync");
}

static void run(const char *device) {
    int fams = attached(device, 0);
    uint8_t *data = mapped(fams);
    struct fams_range all = {0, PAGES * PAGE_BYTES};
    testbed_mark(0);
    for (int n = 0; n < COMMITS; n++) {
        for (int i = 0; i < commits[n].count; i++)
            fill(data + (commits[n].first + i) * PAGE_BYTES, commits[n].first + i, n + 1);
        if (commits[n].how == DECLARED && ioctl(fams, FAMS_DECLARE, &all) < 0)
            fail("FAMS_DECLARE");
        if (commits[n].how == ROLLED_BACK && ioctl(fams, FAMS_ROLLBACK, &all) < 0)
            fail("FAMS_ROLLBACK");
        if (msync(data, PAGES * PAGE_BYTES, MS_SYNC) < 0)
            fail("msync");
        testbed_mark((uint64_t)n + 1);
    }
}

static int check(const char *device, int mark) {
    static uint8_t expected[PAGES * PAGE_BYTES];
    uint8_t *data = mapped(attached(device, 0));
    for (int count = mark; count <= mark + 1 && count <= COMMITS; count++) {
        expect(expected, count);
        if (!memcmp(data, expected, sizeof(expected)))
            return 0;
    }
    printf("neither the data of %d commits nor of %d; commits that the pages are of:", mark, mark + 1);
    for (int i = 0; i < PAGES; i++)
        printf(" %lu", ((uint64_t *)(data + i * PAGE_BYTES))[0] >> 32);
    printf("\n");
    return 1;
}

int main(int argc, char **argv) {
    if (argc == 4 && !strcmp(argv[1], "check"))
        return check(argv[2], atoi(argv[3]));
    if (argc != 3)
        return 2;
    if (!strcmp(argv[1], "make"))
        make(argv[2]);
    else
        run(argv[2]);
    return 0;
}
