/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "written_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SCAN_RUNS /* tests set 1, to need several scans */
#define SCAN_RUNS 64u
#endif

/* From linux/userfaultfd.h and linux/fs.h since Linux 6.7; the headers of the build machine may be older. */
enum { USER_MODE_ONLY = 1, WP_UNPOPULATED = 1 << 13, WP_ASYNC = 1 << 15 };
enum { SCAN_PROTECTS = 1, SCAN_CHECKS = 2, PAGE_WRITTEN = 1 << 1 };

struct page_run {
    uint64_t start, end; /* addresses */
    uint64_t categories;
};

struct scan {
    uint64_t size; /* of this struct */
    uint64_t flags;
    uint64_t start, end;
    uint64_t walk_end; /* out: where the scan stopped, because the list is full or at the end */
    uint64_t runs;     /* address of the list */
    uint64_t run_count;
    uint64_t page_limit; /* 0: no limit */
    uint64_t category_inverted, category_mask, category_any, category_returned;
};

#define PAGEMAP_SCAN_CALL _IOWR('f', 16, struct scan)

_Static_assert(sizeof(struct page_run) == 24 && sizeof(struct scan) == 96, "as the kernel has them");

/* Bypass libc, because the library interposes some of its functions. */
static int call(int fd, unsigned long request, void *argument) {
    return syscall(SYS_ioctl, fd, request, argument) < 0 ? -errno : 0;
}

static int refuse(const char **why, int error, const char *words) {
    *why = words;
    return error;
}

void written_pages_close(struct written_pages *pages) {
    if (pages->pagemap >= 0)
        syscall(SYS_close, pages->pagemap);
    if (pages->uffd >= 0)
        syscall(SYS_close, pages->uffd);
    *pages = (struct written_pages){-1, -1};
}

/* USER_MODE_ONLY needs no permission. Faults in system calls need none either: with WP_ASYNC, no fault waits for the
 * program to resolve it. */
static int features_open(struct written_pages *pages, const char **why) {
    struct uffdio_api wanted = {.api = UFFD_API, .features = WP_ASYNC | WP_UNPOPULATED};
    pages->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY);
    if (pages->uffd < 0 && errno == EPERM)
        return refuse(why, -EPERM, "this process may not use userfaultfd, so its pages cannot be tracked");
    if (pages->uffd < 0 && errno != ENOSYS && errno != EINVAL)
        return -errno;
    if (pages->uffd < 0 || call(pages->uffd, UFFDIO_API, &wanted) < 0)
        return refuse(why, -EOPNOTSUPP, "pages are tracked by userfaultfd's asynchronous write protection (Linux 6.7)");
    return 0;
}

static int pagemap_open(struct written_pages *pages, const char **why) {
    struct scan nothing = {.size = sizeof(nothing)};
    pages->pagemap = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pages->pagemap < 0)
        return refuse(why, -EOPNOTSUPP, "pages are tracked by /proc/self/pagemap, which is not there");
    if (call(pages->pagemap, PAGEMAP_SCAN_CALL, &nothing) == -ENOTTY)
        return refuse(why, -EOPNOTSUPP, "pages are tracked by PAGEMAP_SCAN (Linux 6.7)");
    return 0;
}

int written_pages_open(struct written_pages *pages, const char **why) {
    *pages = (struct written_pages){-1, -1};
    *why = NULL;
    int status = features_open(pages, why);
    if (status == 0)
        status = pagemap_open(pages, why);
    if (status < 0)
        written_pages_close(pages);
    return status;
}

int written_pages_watch(const struct written_pages *pages, void *address, uint64_t bytes) {
    if (bytes == 0)
        return 0;
    struct uffdio_range range = {(uint64_t)address, bytes};
    struct uffdio_register registration = {.range = range, .mode = UFFDIO_REGISTER_MODE_WP};
    struct uffdio_writeprotect protection = {.range = range, .mode = UFFDIO_WRITEPROTECT_MODE_WP};
    if (madvise(address, bytes, MADV_NOHUGEPAGE) < 0 && errno != EINVAL) /* this kernel has no huge pages */
        return -errno;
    int status = call(pages->uffd, UFFDIO_REGISTER, &registration);
    return status < 0 ? status : call(pages->uffd, UFFDIO_WRITEPROTECT, &protection);
}

int written_pages_take(const struct written_pages *pages, void *address, uint64_t bytes,
                       void (*found)(void *context, uint64_t offset, uint64_t bytes), void *context) {
    struct page_run runs[SCAN_RUNS];
    const uint64_t start = (uint64_t)address, end = start + bytes;
    struct scan scan = {.size = sizeof(scan), .end = end, .walk_end = start, .runs = (uint64_t)runs};
    scan.flags = SCAN_CHECKS | SCAN_PROTECTS;
    scan.run_count = SCAN_RUNS;
    scan.category_mask = scan.category_returned = PAGE_WRITTEN;
    while (scan.walk_end < end) {
        scan.start = scan.walk_end;
        long count = syscall(SYS_ioctl, pages->pagemap, PAGEMAP_SCAN_CALL, &scan);
        if (count < 0)
            return -errno;
        for (long i = 0; i < count; i++)
            found(context, runs[i].start - start, runs[i].end - runs[i].start);
    }
    return 0;
}
