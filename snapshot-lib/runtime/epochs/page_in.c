/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lazy page-in: the working copy starts empty. The first load or store of a page waits until a thread of the library
 * has copied that page from the file.
 *
 * Replays may write the file meanwhile, but no replay writes a page that has not been copied in: the content of a log
 * was copied from the working copy, and that access copied the page in.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/epochs.h"
#include "base/uncancelled.h"
#include "protocol/protocols.h"
#include "state.h"

struct pager {
    struct region *region; /* NULL: the pager is unused */
    int faults, end;       /* descriptors: a userfaultfd, and an eventfd that ends the thread */
    pthread_t thread;
    atomic_uint_fast64_t pages;
};

static struct pager pagers[REGIONS_MAX];

static struct pager *pager_of(const struct region *region) { return &pagers[region - regions]; }

/* The system call, because libc's ioctl() is interposed. */
static int call(int fd, unsigned long request, void *argument) {
    return syscall(SYS_ioctl, fd, request, argument) < 0 ? -errno : 0;
}

/* Threads that wait for the page go on after it is counted, even if it was copied in already or its mapping is gone. */
static void page_bring(struct pager *pager, uint64_t address) {
    const struct region *region = pager->region;
    uint64_t page = address / SNAPSHOT_PAGE * SNAPSHOT_PAGE, offset = page - (uint64_t)region->working;
    struct uffdio_copy copy = {.dst = page,
                               .src = (uint64_t)region->backing + offset,
                               .len = SNAPSHOT_PAGE,
                               .mode = UFFDIO_COPY_MODE_DONTWAKE};
    struct uffdio_range range = {.start = page, .len = SNAPSHOT_PAGE};
    if (call(pager->faults, UFFDIO_COPY, &copy) == 0)
        atomic_fetch_add(&pager->pages, 1);
    (void)call(pager->faults, UFFDIO_WAKE, &range);
}

static void *pager_thread(void *argument) {
    struct pager *pager = argument;
    struct pollfd events[] = {{.fd = pager->faults, .events = POLLIN}, {.fd = pager->end, .events = POLLIN}};
    while (!(events[1].revents & POLLIN)) {
        struct uffd_msg message;
        if (poll(events, 2, -1) < 0 || !(events[0].revents & POLLIN))
            continue;
        if (syscall(SYS_read, pager->faults, &message, sizeof(message)) == sizeof(message) &&
            message.event == UFFD_EVENT_PAGEFAULT)
            page_bring(pager, message.arg.pagefault.address);
    }
    return NULL;
}

static int refuse(const struct region *region, int error, const char *why) {
    UNCANCELLED;
    fprintf(stderr, "snapshot: %s: %s: map it without SNAPSHOT_EPOCH_LAZY\n", region->path, why);
    return error;
}

/* System calls access the working copy, too, so the process must receive page faults of the kernel. */
static int faults_open(struct pager *pager, const struct region *region) {
    struct uffdio_api wanted = {.api = UFFD_API};
    pager->faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (pager->faults < 0 && errno == EPERM)
        return refuse(region, -EPERM, "this process may not be told of page faults in the kernel (userfaultfd)");
    if (pager->faults < 0)
        return refuse(region, -EOPNOTSUPP, "this kernel has no userfaultfd");
    struct uffdio_register registration = {.range = {(uint64_t)region->working, region->mapped_bytes},
                                           .mode = UFFDIO_REGISTER_MODE_MISSING};
    int status = call(pager->faults, UFFDIO_API, &wanted);
    return status < 0 ? status : call(pager->faults, UFFDIO_REGISTER, &registration);
}

/* The thread takes no signals, and touches no memory that it would have to page in itself. */
static int thread_start(struct pager *pager) {
    sigset_t all, before;
    pager->end = eventfd(0, EFD_CLOEXEC);
    if (pager->end < 0)
        return -errno;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&pager->thread, NULL, pager_thread, pager);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        syscall(SYS_close, pager->end);
    return -error;
}

int epochs_page_in(struct region *region, unsigned flags) {
    struct pager *pager = pager_of(region);
    atomic_store(&pager->pages, 0);
    if (!(flags & SNAPSHOT_EPOCH_LAZY))
        return 0;
    if (!epochs_are_kept(region))
        return -EINVAL;
    if (region->mapped_bytes == 0)
        return 0;
    pager->region = region;
    int status = faults_open(pager, region);
    if (status == 0)
        status = thread_start(pager);
    if (status < 0) {
        if (pager->faults >= 0)
            syscall(SYS_close, pager->faults);
        pager->region = NULL;
    }
    return status < 0 ? status : 1;
}

/* A forked child has the descriptors but not the thread. Missing pages are zero from now on. */
void epochs_release(struct region *region) {
    struct pager *pager = pager_of(region);
    const uint64_t one = 1;
    if (!pager->region)
        return;
    UNCANCELLED;
    if (!region->inherited && syscall(SYS_write, pager->end, &one, sizeof(one)) == sizeof(one))
        pthread_join(pager->thread, NULL);
    syscall(SYS_close, pager->end);
    syscall(SYS_close, pager->faults);
    pager->region = NULL;
}

/* No thread copies pages in for a child, so all pages are copied in before the fork. */
void epochs_before_fork(void) {
    for (size_t i = 0; i < REGIONS_MAX; i++) {
        const struct region *region = pagers[i].region;
        if (!region || region->inherited)
            continue;
        for (uint64_t at = 0; at < region->mapped_bytes; at += SNAPSHOT_PAGE)
            (void)*(volatile const uint8_t *)(region->working + at);
    }
}

uint64_t pages_brought(const struct region *region) { return atomic_load(&pager_of(region)->pages); }
