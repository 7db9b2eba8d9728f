/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork(): the file remains the parent's. The child has a private copy of the working copy. It has no mapping of file
 * and log, and its commits fail with EPERM. It may unmap the copy, and map other files.
 */
#define _GNU_SOURCE
#include "regions.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/epochs.h"
#include "base/tracker.h"
#include "log/log_file.h"
#include "log/thread_log.h"

/* No file may be half open when the child copies it. */
static void before(void) {
    regions_lock();
    epochs_before_fork();
}

static void in_parent(void) { regions_unlock(); }

/* By the system call: the interposed close() would look at files that the child does not have yet. */
static void descriptor_drop(int *fd) {
    if (*fd >= 0)
        syscall(SYS_close, *fd);
    *fd = -1;
}

/* The locks stay with the parent: the child closes its descriptors of them, and unlocks none. */
static void region_inherit(struct region *region) {
    atomic_store(&region->users, 0); /* counted by threads that the child does not have */
    pthread_mutex_init(&region->mutex, NULL);
    contents_init(region);
    descriptor_drop(&region->log_fd);
    descriptor_drop(&region->data_fd);
    descriptor_drop(&region->lock_fd);
    tracker_inherit(region);
    epochs_inherit(region);
    region->backing = NULL; /* MADV_DONTFORK: the child may map something else there */
    region->log.base = NULL;
}

static void in_child(void) {
    regions_lock_inherit();
    log_file_inherit();
    thread_logs_inherit();
    idle_inherit();
    __atomic_store_n(&__snapshot_size, 0, __ATOMIC_RELEASE); /* stores of the child are not tracked */
    bool is_new[REGIONS_MAX];
    for (size_t i = 0; i < REGIONS_MAX; i++) { /* first: no call on the way may take one for a file of the child */
        is_new[i] = region_is_open(&regions[i]) && !regions[i].inherited;
        regions[i].inherited |= is_new[i];
    }
    for (size_t i = 0; i < REGIONS_MAX; i++)
        if (is_new[i])
            region_inherit(&regions[i]);
}

static void handlers_register(void) { (void)pthread_atfork(before, in_parent, in_child); }

/* Runs before the program registers fork handlers, so that its handlers find the files inherited already. */
__attribute__((constructor(101))) void fork_watch(void) {
    static pthread_once_t registered = PTHREAD_ONCE_INIT;
    pthread_once(&registered, handlers_register);
}
