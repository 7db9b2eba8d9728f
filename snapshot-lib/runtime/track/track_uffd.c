/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `uffd`: the kernel write-protects the pages of the working copy and, on the first store to one, notes it in the page
 * table and lets the store go on: no signal, no other thread. PAGEMAP_SCAN lists the pages so noted and protects them
 * again in one step. Linux 6.7 has both.
 *
 * A store costs a page fault if it is the first to its page since the last scan; a scan costs as many looks as the file
 * has pages, few or many of them changed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/seeded_bug.h"
#include "trackers.h"

#ifndef SCAN_RUNS /* tests use one, to need several scans */
#define SCAN_RUNS 64u
#endif

/* Of linux/userfaultfd.h and linux/fs.h since Linux 6.7; who builds this may have older ones. */
enum { USER_MODE_ONLY = 1, WP_UNPOPULATED = 1 << 13, WP_ASYNC = 1 << 15 };
enum { SCAN_PROTECTS = 1, SCAN_CHECKS = 2, PAGE_WRITTEN = 1 << 1 };

struct page_run {
    uint64_t start, end; /* addresses */
    uint64_t categories;
};

struct scan {
    uint64_t size; /* of this */
    uint64_t flags;
    uint64_t start, end;
    uint64_t walk_end; /* out: where it stopped, for want of room in the list or at the end */
    uint64_t runs;     /* address of the list */
    uint64_t run_count;
    uint64_t page_limit; /* 0: none */
    uint64_t category_inverted, category_mask, category_any, category_returned;
};

#define PAGEMAP_SCAN_CALL _IOWR('f', 16, struct scan)

_Static_assert(sizeof(struct page_run) == 24 && sizeof(struct scan) == 96, "as the kernel has them");

static struct watch {
    int uffd, pagemap;
} watches[REGIONS_MAX];

static struct watch *watch_of(const struct region *region) { return &watches[region - regions]; }

/* Not by libc: some of these are interposed. */
static int call(int fd, unsigned long request, void *argument) {
    return syscall(SYS_ioctl, fd, request, argument) < 0 ? -errno : 0;
}

static int refuse(const char *path, int error, const char *why) {
    fprintf(stderr, "snapshot: %s: %s: set SNAPSHOT_TRACK=mprotect, or compile with snapcc and set it to pass\n", path,
            why);
    return error;
}

static void watch_close(struct region *region) {
    struct watch *watch = watch_of(region);
    if (watch->pagemap >= 0)
        syscall(SYS_close, watch->pagemap);
    if (watch->uffd >= 0)
        syscall(SYS_close, watch->uffd);
    *watch = (struct watch){-1, -1};
}

/* Faults of system calls need no permission: nobody waits for them to be resolved by the program. */
static int features_open(struct watch *watch, const char *path) {
    struct uffdio_api wanted = {.api = UFFD_API, .features = WP_ASYNC | WP_UNPOPULATED};
    watch->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY);
    if (watch->uffd < 0 && errno == EPERM)
        return refuse(path, -EPERM, "this process may not use userfaultfd, so its pages cannot be tracked");
    if (watch->uffd < 0 && errno != ENOSYS && errno != EINVAL)
        return -errno;
    if (watch->uffd < 0 || call(watch->uffd, UFFDIO_API, &wanted) < 0)
        return refuse(path, -EOPNOTSUPP,
                      "pages are tracked by userfaultfd's asynchronous write protection (Linux 6.7)");
    return 0;
}

static int pagemap_open(struct watch *watch, const char *path) {
    struct scan nothing = {.size = sizeof(nothing)};
    watch->pagemap = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (watch->pagemap < 0)
        return refuse(path, -EOPNOTSUPP, "pages are tracked by /proc/self/pagemap, which is not there");
    if (call(watch->pagemap, PAGEMAP_SCAN_CALL, &nothing) == -ENOTTY)
        return refuse(path, -EOPNOTSUPP, "pages are tracked by PAGEMAP_SCAN (Linux 6.7)");
    return 0;
}

static int watch_open(struct region *region, const char *path) {
    struct watch *watch = watch_of(region);
    *watch = (struct watch){-1, -1};
    int status = features_open(watch, path);
    if (status == 0)
        status = pagemap_open(watch, path);
    if (status < 0)
        watch_close(region);
    return status;
}

/* Small pages: of a huge one a store would change 2 MiB. */
static int watch_range(struct region *region, uint64_t offset, uint64_t bytes) {
    if (bytes == 0)
        return 0;
    struct uffdio_range range = {(uint64_t)(region->working + offset), bytes};
    struct uffdio_register registration = {.range = range, .mode = UFFDIO_REGISTER_MODE_WP};
    struct uffdio_writeprotect protection = {.range = range, .mode = UFFDIO_WRITEPROTECT_MODE_WP};
    if (madvise(region->working + offset, bytes, MADV_NOHUGEPAGE) < 0 && errno != EINVAL) /* this kernel has none */
        return -errno;
    int status = call(watch_of(region)->uffd, UFFDIO_REGISTER, &registration);
    return status < 0 ? status : call(watch_of(region)->uffd, UFFDIO_WRITEPROTECT, &protection);
}

/* -EPERM: some page of it is not watched. */
static int collect(struct region *region) {
    struct page_run runs[SCAN_RUNS];
    const uint64_t start = (uint64_t)region->working, end = start + region->mapped_bytes;
    struct scan scan = {.size = sizeof(scan), .end = end, .walk_end = start, .runs = (uint64_t)runs};
    scan.flags = SEEDED_BUG(PAGES_NOT_PROTECTED_AGAIN) ? SCAN_CHECKS : SCAN_CHECKS | SCAN_PROTECTS;
    scan.run_count = SCAN_RUNS;
    scan.category_mask = scan.category_returned = PAGE_WRITTEN;
    while (scan.walk_end < end) {
        scan.start = scan.walk_end;
        long count = syscall(SYS_ioctl, watch_of(region)->pagemap, PAGEMAP_SCAN_CALL, &scan);
        if (count < 0)
            return -errno;
        for (long i = 0; i < count; i++)
            pages_changed(region, runs[i].start - start, runs[i].end - runs[i].start);
        if (SEEDED_BUG(SCAN_ONCE))
            return 0;
    }
    return 0;
}

/* The child's pages are registered nowhere, and the descriptors are of its parent's. */
static void inherit(struct region *region) { watch_close(region); }

const struct tracker tracker_uffd = {
    .name = "uffd",
    .flag = SNAPSHOT_TRACK_UFFD,
    .open = watch_open,
    .close = watch_close,
    .watch = watch_range,
    .collect = collect,
    .inherit = inherit,
};
