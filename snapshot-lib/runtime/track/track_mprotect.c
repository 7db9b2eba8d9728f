/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `mprotect`: pages are read-only, and the signal of the first store to a page makes it writable ("opens" it). Every
 * kernel supports this method, and other systems used it before userfaultfd existed. It serves for comparison.
 *
 * The first store to a page since the last commit costs a signal and a system call; a commit costs one system call for
 * each run of open pages. System calls that write to a page that is not open fail with EFAULT; announce such writes
 * with snapshot_log_range(). A program that handles SIGSEGV itself must install its handler before it maps a file:
 * signals that are not caused by a store to a tracked file go to the handler that was installed before. A blocked
 * signal would end the process at such a store, so the calls that block signals leave out SIGSEGV.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "log/format.h"
#include "trackers.h"

#define PAGES_MAX (DATA_BYTES_MAX / SNAPSHOT_PAGE)

enum { CLOSED = 0, OPEN = 1 };

/* A signal handler reads this in any thread, so it is kept apart from struct region. */
static struct watch {
    _Atomic uint64_t begin;  /* address */
    _Atomic uint64_t bytes;  /* 0: nothing is watched */
    _Atomic uint8_t *states; /* by page */
    atomic_flag busy; /* held while these fields change, or a page's state and protection differ for storing threads */
} watches[REGIONS_MAX];

static struct sigaction before;

static struct watch *watch_of(const struct region *region) { return &watches[region - regions]; }

/* The thread that has the lock is in a system call, and may wait for this CPU. */
static void lock(struct watch *watch) {
    while (atomic_flag_test_and_set_explicit(&watch->busy, memory_order_acquire))
        syscall(SYS_sched_yield);
}

static void unlock(struct watch *watch) { atomic_flag_clear_explicit(&watch->busy, memory_order_release); }

static int protect(uint64_t address, uint64_t bytes, int protection) {
    return syscall(SYS_mprotect, address, bytes, protection) < 0 ? -errno : 0;
}

static void states_set(struct watch *watch, uint64_t offset, uint64_t bytes, uint8_t state) {
    for (uint64_t page = offset / SNAPSHOT_PAGE; page < (offset + bytes) / SNAPSHOT_PAGE; page++)
        atomic_store_explicit(&watch->states[page], state, memory_order_relaxed);
}

/*
 * Each run of pages with the same protection takes one kernel mapping, and vm.max_map_count limits their number. Beyond
 * the limit the whole file is opened, and counts as changed. The watch is locked.
 */
static int pages_open(struct watch *watch, uint64_t offset, uint64_t bytes) {
    const int access = PROT_READ | PROT_WRITE;
    uint64_t begin = atomic_load(&watch->begin), all = atomic_load(&watch->bytes);
    states_set(watch, offset, bytes, OPEN);
    int status = protect(begin + offset, bytes, access);
    if (status == -ENOMEM) {
        states_set(watch, 0, all, OPEN);
        status = protect(begin, all, access);
    }
    return status;
}

static bool has(const struct watch *watch, uint64_t address) {
    return address - atomic_load(&watch->begin) < atomic_load(&watch->bytes);
}

/*
 * Open the page of `address`. Return true if the store can proceed. Another thread may meanwhile close a file and open
 * one in its place, so a look without the lock may see parts of two files.
 */
static bool opens(uint64_t address) {
    for (struct watch *watch = watches; watch < watches + REGIONS_MAX; watch++) {
        if (!has(watch, address))
            continue;
        lock(watch);
        bool is_its = has(watch, address);
        uint64_t offset = address - atomic_load(&watch->begin);
        int status = is_its ? pages_open(watch, offset / SNAPSHOT_PAGE * SNAPSHOT_PAGE, SNAPSHOT_PAGE) : 0;
        unlock(watch);
        if (is_its)
            return status == 0;
    }
    return false;
}

/* Pass the signal to the handler that was installed before. Without such a handler, restore the old action: the same
 * fault occurs again, and ends the process. */
static void pass_on(int number, siginfo_t *info, void *context) {
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
    else
        (void)sigaction(SIGSEGV, &before, NULL);
}

/* All signals are blocked meanwhile: another handler might store to the same page. */
static void on_fault(int number, siginfo_t *info, void *context) {
    int saved = errno;
    bool is_access = info->si_code == SEGV_ACCERR;
    if (!is_access || !opens((uint64_t)info->si_addr))
        pass_on(number, info, context);
    errno = saved;
}

/* The process may have begun with the signal blocked. */
static void signal_unblock(void) {
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGSEGV);
    (void)syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &only, NULL, _NSIG / 8);
}

static int handler_install(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK}, now;
    signal_unblock();
    if (sigaction(SIGSEGV, NULL, &now) < 0)
        return -errno;
    if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault)
        return 0;
    before = now;
    sigfillset(&action.sa_mask);
    return sigaction(SIGSEGV, &action, NULL) < 0 ? -errno : 0;
}

static int watch_open(struct region *region, const char *path) {
    (void)path;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *states = kernel_mmap(NULL, PAGES_MAX, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (states == MAP_FAILED)
        return -errno;
    watch_of(region)->states = states;
    return handler_install();
}

static void watch_close(struct region *region) {
    struct watch *watch = watch_of(region);
    lock(watch);
    atomic_store(&watch->bytes, 0);
    if (watch->states)
        kernel_munmap((void *)watch->states, PAGES_MAX);
    watch->states = NULL;
    unlock(watch);
}

/* Watch a range. The page states stay valid if the file has moved. No thread stores to these pages during the call. */
static int watch_range(struct region *region, uint64_t offset, uint64_t bytes) {
    struct watch *watch = watch_of(region);
    const uint64_t end = offset + bytes;
    states_set(watch, offset, bytes, CLOSED);
    int status = protect((uint64_t)region->working + offset, bytes, PROT_READ);
    if (status < 0)
        states_set(watch, offset, bytes, OPEN); /* the pages are still writable */
    lock(watch);
    atomic_store(&watch->begin, (uint64_t)region->working);
    atomic_store(&watch->bytes, end > region->mapped_bytes ? end : region->mapped_bytes);
    unlock(watch);
    return status;
}

static uint64_t run_of(const struct watch *watch, uint64_t page, uint64_t end, uint8_t state) {
    while (page < end && atomic_load_explicit(&watch->states[page], memory_order_relaxed) == state)
        page++;
    return page;
}

/* Close the run of pages that begins at `page`, and report it as changed. Pages that cannot be closed stay open, and
 * count as changed again at the next commit. */
static void run_collect(struct region *region, uint64_t page, uint64_t end) {
    struct watch *watch = watch_of(region);
    uint64_t offset = page * SNAPSHOT_PAGE, bytes = (end - page) * SNAPSHOT_PAGE;
    lock(watch);
    states_set(watch, offset, bytes, CLOSED);
    int status = protect((uint64_t)region->working + offset, bytes, PROT_READ);
    if (status < 0)
        states_set(watch, offset, bytes, OPEN);
    unlock(watch);
    pages_changed(region, offset, bytes);
}

static int collect(struct region *region) {
    const struct watch *watch = watch_of(region);
    const uint64_t pages = region->mapped_bytes / SNAPSHOT_PAGE;
    for (uint64_t page = run_of(watch, 0, pages, CLOSED); page < pages;) {
        uint64_t end = run_of(watch, page, pages, OPEN);
        run_collect(region, page, end);
        page = run_of(watch, end, pages, CLOSED);
    }
    return 0;
}

static void admit(struct region *region, uint64_t offset, uint64_t bytes) {
    uint64_t from = offset / SNAPSHOT_PAGE * SNAPSHOT_PAGE;
    uint64_t to = (offset + bytes + SNAPSHOT_PAGE - 1) / SNAPSHOT_PAGE * SNAPSHOT_PAGE;
    lock(watch_of(region));
    (void)pages_open(watch_of(region), from, to - from);
    unlock(watch_of(region));
}

/* In a forked child: open all pages, and release the lock, which another thread of the parent may have held. */
static void inherit(struct region *region) {
    struct watch *watch = watch_of(region);
    (void)protect(atomic_load(&watch->begin), atomic_load(&watch->bytes), PROT_READ | PROT_WRITE);
    unlock(watch);
    watch_close(region);
}

const struct tracker tracker_mprotect = {
    .name = "mprotect",
    .flag = SNAPSHOT_TRACK_MPROTECT,
    .open = watch_open,
    .close = watch_close,
    .watch = watch_range,
    .collect = collect,
    .admit = admit,
    .inherit = inherit,
};
