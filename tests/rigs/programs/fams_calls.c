/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests /dev/fams in a guest, call by call. Ends with status 1 at the first wrong result.
 *
 *     fams_calls refused DEVICE      calls without a store, without room, and without a mapping
 *     fams_calls run DEVICE          a new store with a small journal, commits and rollbacks
 *     fams_calls cut DEVICE          a commit, stores after it, and a power cut
 *     fams_calls after DEVICE        the store after that cut
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fams_ioctl.h"
#include "testbed_roi.h"

enum { PAGE = 4096, JOURNAL_BYTES = 16 * PAGE, COMMIT_PAGES = 7 };

#define CHECK(holds) check(holds, #holds, __LINE__)
#define REFUSED(call, number) check((call) < 0 && errno == (number), #call " is refused by " #number, __LINE__)

static void check(int holds, const char *what, int line) {
    if (holds)
        return;
    printf("line %d: not so: %s (errno %d, %s)\n", line, what, errno, strerror(errno));
    exit(1);
}

static int opened(const char *path, int flags) {
    int fd = open(path, flags);
    CHECK(fd >= 0);
    return fd;
}

static int attach_to(int fams, const char *device, unsigned flags, struct fams_attach *attach) {
    *attach = (struct fams_attach){.device = opened(device, O_RDWR), .flags = flags, .journal_bytes = JOURNAL_BYTES};
    int status = ioctl(fams, FAMS_ATTACH, attach), number = errno;
    close(attach->device);
    errno = number;
    return status;
}

static int attached(const char *device, unsigned flags) {
    struct fams_attach attach;
    int fams = opened("/dev/fams", O_RDWR);
    CHECK(attach_to(fams, device, flags, &attach) == 0);
    CHECK(attach.commit_pages == COMMIT_PAGES && attach.data_bytes > 64 * PAGE);
    return fams;
}

static char *mapped(int fams) {
    char *data = mmap(NULL, 32 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fams, 0);
    CHECK(data != MAP_FAILED);
    return data;
}

static int msync_pages(char *data, int first, int count) { return msync(data + first * PAGE, count * PAGE, MS_SYNC); }

static void store(char *data, int first, int count, char value) {
    for (int i = first; i < first + count; i++)
        memset(data + i * PAGE, value, PAGE);
}

static int holds(const char *data, int first, int count, char value) {
    for (int i = first * PAGE; i < (first + count) * PAGE; i++)
        if (data[i] != value)
            return 0;
    return 1;
}

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static void refused(const char *device) {
    struct fams_range everything = {0, UINT64_MAX};
    struct fams_attach attach;
    int fams = opened("/dev/fams", O_RDWR), other = opened("/dev/fams", O_RDWR), file = opened("/job/data", O_RDWR);
    CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fams, 0) == MAP_FAILED && errno == ENODEV);
    REFUSED(fsync(fams), ENODEV);
    REFUSED(ioctl(fams, FAMS_ROLLBACK, &everything), ENODEV);
    REFUSED(attach_to(fams, device, 0, &attach), ENODATA);
    REFUSED(attach_to(fams, device, 2, &attach), EINVAL);
    attach = (struct fams_attach){.device = -1};
    REFUSED(ioctl(fams, FAMS_ATTACH, &attach), EBADF);
    attach = (struct fams_attach){.device = opened(device, O_RDONLY)};
    REFUSED(ioctl(fams, FAMS_ATTACH, &attach), EBADF);
    attach = (struct fams_attach){.device = file};
    REFUSED(ioctl(fams, FAMS_ATTACH, &attach), ENOTBLK);
    attach = (struct fams_attach){opened(device, O_RDWR), FAMS_NEW, JOURNAL_BYTES + 1, 0, 0};
    REFUSED(ioctl(fams, FAMS_ATTACH, &attach), EINVAL);
    attach.journal_bytes = 2 * PAGE;
    REFUSED(ioctl(fams, FAMS_ATTACH, &attach), ENOSPC);
    attach.journal_bytes = 1ull << 60;
    REFUSED(ioctl(fams, FAMS_ATTACH, &attach), ENOSPC);
    REFUSED(ioctl(fams, _IO(0xfa, 9)), ENOTTY);

    CHECK(attach_to(fams, device, FAMS_NEW, &attach) == 0);
    REFUSED(attach_to(fams, device, 0, &attach), EBUSY);
    REFUSED(attach_to(other, device, 0, &attach), EBUSY);
    CHECK(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fams, 0) == MAP_FAILED && errno == EINVAL);
    CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fams, 1l << 40) == MAP_FAILED && errno == ENXIO);
    everything.offset = 1;
    REFUSED(ioctl(fams, FAMS_ROLLBACK, &everything), EINVAL);
    REFUSED(ioctl(fams, FAMS_DECLARE, NULL), EFAULT);
}

/* One page more than a commit can have: the calls are refused, and nothing is lost. */
static void outgrow_the_journal(int fams, char *data) {
    struct fams_range all = {0, 32 * PAGE}, one = {0, PAGE};
    store(data, 0, 2, 'a');
    CHECK(msync_pages(data, 0, 32) == 0);
    store(data, 0, COMMIT_PAGES + 1, 'b');
    REFUSED(msync_pages(data, 0, 32), EFBIG);
    REFUSED(fsync(fams), EFBIG);
    REFUSED(ioctl(fams, FAMS_DECLARE, &all), EFBIG);
    CHECK(holds(data, 0, COMMIT_PAGES + 1, 'b'));
    CHECK(ioctl(fams, FAMS_ROLLBACK, &one) == 0);
    CHECK(holds(data, 0, 1, 'a') && holds(data, 1, COMMIT_PAGES, 'b'));
    CHECK(msync_pages(data, 0, 32) == 0); /* now the commit fits */
    CHECK(ioctl(fams, FAMS_ROLLBACK, &all) == 0);
    CHECK(holds(data, 0, 1, 'a') && holds(data, 1, COMMIT_PAGES, 'b'));
}

/*
 * Page faults: one for each page that is stored to, again after each commit and each rollback; none for a second store.
 */
static long faults_of_a_round(int fams, char *data) {
    struct fams_range all = {0, 32 * PAGE};
    long before = faults();
    store(data, 0, 3, 'c'); /* 3 */
    store(data, 0, 3, 'd');
    CHECK(msync_pages(data, 0, 32) == 0);
    CHECK(holds(data, 0, 3, 'd'));
    store(data, 0, 2, 'e'); /* 2 */
    CHECK(ioctl(fams, FAMS_ROLLBACK, &all) == 0);
    CHECK(holds(data, 0, 3, 'd'));
    store(data, 0, 1, 'f'); /* 1 */
    CHECK(msync_pages(data, 0, 32) == 0);
    return faults() - before;
}

/* The declared content is the next commit, without the stores that follow the declaration. */
static void declare(int fams, char *data) {
    struct fams_range all = {0, 32 * PAGE};
    store(data, 10, 2, 'g');
    CHECK(ioctl(fams, FAMS_DECLARE, &all) == 0);
    store(data, 11, 2, 'h');
    CHECK(ioctl(fams, FAMS_ROLLBACK, &all) == 0);
    CHECK(holds(data, 10, 2, 'g') && holds(data, 12, 1, 0));
    store(data, 10, 1, 'i');
    CHECK(ioctl(fams, FAMS_DECLARE, &all) == 0);
    store(data, 12, 1, 'h');
    CHECK(ioctl(fams, FAMS_DECLARE, &all) == 0);
    CHECK(holds(data, 10, 1, 'i') && holds(data, 12, 1, 'h'));
    CHECK(msync_pages(data, 0, 32) == 0);
}

static void check_left(const char *data) {
    CHECK(holds(data, 0, 1, 'f') && holds(data, 1, 2, 'd') && holds(data, 3, COMMIT_PAGES - 2, 'b'));
    CHECK(holds(data, 10, 1, 'i') && holds(data, 11, 1, 'g') && holds(data, 12, 1, 'h') && holds(data, 13, 19, 0));
}

/*
 * Two mappings show one working copy. Uncommitted stores are lost when the last mapping and the descriptor are closed.
 */
static void close_and_open(const char *device, int fams, char *data) {
    char *second = mapped(fams);
    check_left(second);
    store(data, 5, 1, 'x');
    CHECK(holds(second, 5, 1, 'x'));
    CHECK(munmap(second, 32 * PAGE) == 0 && close(fams) == 0 && munmap(data, 32 * PAGE) == 0);
    fams = attached(device, 0);
    data = mapped(fams);
    check_left(data);
    CHECK(munmap(data, 32 * PAGE) == 0 && close(fams) == 0);
}

static void run(const char *device) {
    int fams = attached(device, FAMS_NEW);
    char *data = mapped(fams);
    for (int i = 0; i < 32; i += COMMIT_PAGES) {
        store(data, i, i + COMMIT_PAGES < 32 ? COMMIT_PAGES : 32 - i, 0);
        CHECK(msync_pages(data, 0, 32) == 0);
    }
    outgrow_the_journal(fams, data);
    faults_of_a_round(fams, data); /* counts faults of the program's own pages, too */
    CHECK(faults_of_a_round(fams, data) == 6);
    declare(fams, data);
    check_left(data);
    close_and_open(device, fams, data);
}

static void cut(const char *device) {
    char *data = mapped(attached(device, 0));
    store(data, 20, 3, 'j');
    CHECK(msync_pages(data, 0, 32) == 0);
    store(data, 20, 3, 'k');
    store(data, 0, 1, 'k');
    testbed_power_cut();
}

static void after(const char *device) {
    char *data = mapped(attached(device, 0));
    CHECK(holds(data, 20, 3, 'j') && holds(data, 0, 1, 'f') && holds(data, 10, 1, 'i') && holds(data, 23, 9, 0));
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(const char *device);
    } parts[] = {{"refused", refused}, {"run", run}, {"cut", cut}, {"after", after}};
    for (unsigned i = 0; argc == 3 && i < sizeof(parts) / sizeof(parts[0]); i++)
        if (!strcmp(argv[1], parts[i].name)) {
            parts[i].run(argv[2]);
            printf("%s: all is so\n", argv[1]);
            return 0;
        }
    return 2;
}
