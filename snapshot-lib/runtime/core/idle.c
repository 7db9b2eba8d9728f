/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that are not mapped any more, but have uncommitted stores. A program may unmap a file to map it again, perhaps
 * longer, and on any untracked file it would find its stores. So the transaction stays open while the process can
 * return to the file: until its last descriptor is closed. Then the stores are discarded, as in a crash. A file without
 * such stores is closed by its last munmap, unless a call of another thread is using a descriptor of the file at that
 * moment.
 *
 * Descriptors are not counted, because too many calls create them. The library searches /proc for them when a file
 * idles and a descriptor is closed.
 */
#define _GNU_SOURCE
#include "regions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/tracker.h"
#include "check.h"
#include "commit.h"

static atomic_uint idle_count;
static atomic_bool idle_missed; /* a file was not looked at, since a call was using it */
static atomic_uint closings;    /* number of calls that close descriptors */
static uint64_t idle_last;
static pid_t idle_process; /* a child of vfork() has separate descriptors, but shares these variables with its parent */

void idle_inherit(void) { idle_process = getpid(); }

static bool is_same_file(int fd, const struct file_identity *identity) {
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_ino == identity->inode && status.st_dev == identity->device;
}

/* Searches one piece of the list of descriptors. */
static bool piece_has(const char *piece, ssize_t bytes, const struct region *region) {
    for (ssize_t at = 0; at < bytes;) {
        const struct dirent64 *entry = (const void *)(piece + at);
        int fd = atoi(entry->d_name); /* 0 for `.` and `..`: descriptor 0 is checked twice more */
        if (fd != region->data_fd && fd != region->lock_fd && is_same_file(fd, &region->identity))
            return true;
        at += entry->d_reclen;
    }
    return false;
}

/* True if this process has the file open. Without /proc the answer is true, so that nothing is discarded. */
static bool is_listed_open(const struct region *region) {
    _Alignas(struct dirent64) char piece[4096];
    int folder = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool found = folder < 0;
    ssize_t bytes = 0;
    while (!found && (bytes = getdents64(folder, piece, sizeof(piece))) > 0)
        found = piece_has(piece, bytes, region);
    if (folder >= 0)
        syscall(SYS_close, folder);
    return found;
}

/* A thread may duplicate a descriptor and close the first one during a search, which then finds neither. While threads
 * go on closing descriptors the answer is true, as without /proc: each of them looks again afterwards. */
static bool is_open(const struct region *region) {
    const unsigned searches = 10;
    for (unsigned i = 0; i < searches; i++) {
        unsigned before = atomic_load(&closings);
        if (is_listed_open(region))
            return true;
        if (atomic_load(&closings) == before)
            return false;
    }
    return true;
}

/* Called before descriptors are closed. */
void idle_closing(void) { atomic_fetch_add(&closings, 1); }

static void idle_end(struct region *region) {
    if (region->idle_since > 0)
        atomic_fetch_sub(&idle_count, 1);
    region->idle_since = 0;
}

/* Returns 0, or -EUCLEAN: the log is damaged, and log and file are as a crash would leave them. */
static int idle_close(struct region *region, const char *why) {
    idle_end(region);
    check_discard(region, why);
    return region_close(region);
}

/* For callers that cannot return the error: prints it. Not inlined, because a caller that opens a file next may have a
 * stack of 16 KiB. */
static __attribute__((noinline)) void idle_close_aloud(struct region *region, const char *why) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", region->path);
    if (idle_close(region, why) < 0)
        dprintf(STDERR_FILENO, "snapshot: %s: its log is damaged, and the file lacks what only the log had\n", path);
}

/* Close an idle file without descriptors, now or when the calls that use it have ended: the last one finds the note. */
static void idle_look(struct region *region) {
    if (atomic_load(&region->users) > 0)
        atomic_store(&idle_missed, true);
    if (atomic_load(&region->users) == 0 && !is_open(region))
        idle_close_aloud(region, "its last descriptor was closed");
}

/* Called when the last mapping is gone. A forked child has nothing to commit. */
int region_unmapped(struct region *region) {
    bool is_used = atomic_load(&region->users) > 0; /* first: a call that has ended by now may have made changes */
    bool is_unknown = !region->inherited && tracker_collect_alone(region) < 0;
    bool has_changes = !region->inherited && (is_unknown || region_has_changes(region));
    if (!is_used && (!has_changes || !is_open(region)))
        return idle_close(region, "its last mapping and descriptor are gone");
    idle_process = getpid();
    region->idle_since = ++idle_last;
    atomic_fetch_add(&idle_count, 1);
    idle_look(region);
    return 0;
}

/* Called when the file is mapped again. */
void region_mapped(struct region *region) { idle_end(region); }

/*
 * Call this when the last descriptor of a file may have been closed. A file with another descriptor stays, even if it
 * has been committed meanwhile: another thread may be using it.
 */
void idle_check(void) {
    if (atomic_load_explicit(&idle_count, memory_order_relaxed) == 0 || getpid() != idle_process)
        return;
    int saved = errno;
    regions_lock();
    for (size_t i = 0; i < REGIONS_MAX; i++)
        if (region_is_open(&regions[i]) && regions[i].idle_since > 0)
            idle_look(&regions[i]);
    regions_unlock();
    errno = saved;
}

void idle_check_missed(void) {
    if (atomic_load(&idle_missed) && atomic_exchange(&idle_missed, false))
        idle_check();
}

static bool can_close(const struct region *region) {
    return region_is_open(region) && region->idle_since > 0 && atomic_load(&region->users) == 0;
}

/* Close the file that has idled longest, because another file needs its place. False: no file can be closed. */
static bool make_room(void) {
    struct region *oldest = NULL;
    for (size_t i = 0; i < REGIONS_MAX; i++)
        if (can_close(&regions[i]) && (!oldest || regions[i].idle_since < oldest->idle_since))
            oldest = &regions[i];
    if (oldest) {
        dprintf(STDERR_FILENO,
                "snapshot: %s: is not mapped and makes room for another file: what was stored to it and not committed "
                "is discarded; call msync() before munmap(), or close the file\n",
                oldest->path);
        idle_close_aloud(oldest, "another file needs its place");
    }
    return oldest;
}

/* Like region_open(), but closes idle files if their place is needed. Called with the lock of all files. */
int region_open_making_room(const struct open_request *request, struct region **out) {
    int status = region_open(request, out);
    while ((status == -EMFILE || status == -ENOMEM) && make_room())
        status = region_open(request, out);
    return status;
}
