/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracked files: opening (recover, then fill the working copy), finding by address or descriptor, closing. */
#define _GNU_SOURCE
#include "regions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/epochs.h"
#include "base/file_lock.h"
#include "base/tracker.h"
#include "check.h"
#include "commit.h"
#include "log/file_record.h"
#include "log/log_file.h"
#include "log/thread_log.h"
#include "protocol/held.h"
#include "protocol/protocols.h"
#include "recover.h"

#ifndef SPAN_BYTES_MIN /* tests use smaller values, to outgrow them */
#define SPAN_BYTES_MIN (1ull << 30)
#endif

struct region regions[REGIONS_MAX];
static uint64_t generation_last;
/* Recursive: mmap() opens files, and close() closes idle ones, with the mutex held. */
static pthread_mutex_t regions_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
/* Of the thread with the mutex: how often it has taken the mutex, and whether it could be cancelled before. It cannot
 * be meanwhile, because many calls on files and streams are cancellation points. */
static unsigned regions_depth;
static int regions_cancel_state;

void regions_lock(void) {
    pthread_mutex_lock(&regions_mutex);
    if (regions_depth++ == 0)
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &regions_cancel_state);
}

void regions_unlock(void) {
    bool is_last = --regions_depth == 0;
    int before = regions_cancel_state;
    pthread_mutex_unlock(&regions_mutex);
    if (is_last)
        pthread_setcancelstate(before, NULL);
}

/* The thread that forked has the mutex in the child, too. */
void regions_lock_inherit(void) {
    regions_mutex = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    regions_depth = 0;
    pthread_setcancelstate(regions_cancel_state, NULL);
}

bool region_is_open(const struct region *region) { return generation_of(region) != 0; }

static void generation_set(struct region *region, uint64_t generation) {
    __atomic_store_n(&region->generation, generation, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

/* The tracked file that has a byte at this address. */
struct region *region_find(const void *address) {
    for (struct region *region = regions; region < regions + REGIONS_MAX; region++)
        if (region_has(region, address, &region->mapped_bytes))
            return region;
    return NULL;
}

/* The tracked file for which this address is reserved, even behind the end of the file. */
struct region *region_of_span(const void *address) {
    for (struct region *region = regions; region < regions + REGIONS_MAX; region++)
        if (region_has(region, address, &region->span_bytes))
            return region;
    return NULL;
}

static bool is_of(const struct region *region, const struct file_identity *identity) {
    uint64_t generation = generation_of(region);
    return generation && region->identity.inode == identity->inode && region->identity.device == identity->device &&
           generation_is_still(region, generation);
}

/* A forked child may have both an inherited file of its parent and the file itself; the latter is preferred. */
static struct region *region_of_identity(const struct file_identity *identity) {
    struct region *found = NULL;
    for (struct region *region = regions; region < regions + REGIONS_MAX; region++)
        if (is_of(region, identity) && (!found || found->inherited))
            found = region;
    return found;
}

static bool any_is_open(void) {
    for (size_t i = 0; i < REGIONS_MAX; i++)
        if (region_is_open(&regions[i]))
            return true;
    return false;
}

/* Searches by file, not by descriptor: closing a descriptor ends nothing, and opening the file again finds it. */
struct region *region_of_file(int fd) {
    struct file_identity identity;
    return any_is_open() && file_identity_read(fd, &identity) == 0 ? region_of_identity(&identity) : NULL;
}

/* Takes no lock for a file that is not tracked, because signal handlers write to pipes. */
struct region *region_use(int fd) {
    struct file_identity identity;
    if (!any_is_open() || file_identity_read(fd, &identity) < 0 || !region_of_identity(&identity))
        return NULL;
    regions_lock();
    struct region *region = region_of_identity(&identity);
    if (region)
        atomic_fetch_add(&region->users, 1);
    regions_unlock();
    return region;
}

void regions_let_others(void) {
    unsigned depth = regions_depth;
    for (unsigned i = 0; i < depth; i++)
        regions_unlock();
    relax();
    syscall(SYS_sched_yield);
    for (unsigned i = 0; i < depth; i++)
        regions_lock();
}

void region_unuse(struct region **used) {
    if (*used && atomic_fetch_sub(&(*used)->users, 1) == 1)
        idle_check_missed();
}

/* Writers first: readers that follow each other without end would otherwise keep them waiting. */
void contents_init(struct region *region) {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&region->contents, &attributes);
}

void contents_share(struct region *region) { pthread_rwlock_rdlock(&region->contents); }
void contents_take(struct region *region) { pthread_rwlock_wrlock(&region->contents); }
void contents_release(struct region *region) { pthread_rwlock_unlock(&region->contents); }

void contents_take_late(struct region *region) {
    while (pthread_rwlock_trywrlock(&region->contents) != 0)
        regions_let_others();
}

/* Read only data that was ever written: pages of a hole are zero in the working copy already. */
static int working_fill(struct region *region, int data_fd) {
    off_t end = (off_t)region->bytes;
    off_t begin = lseek(data_fd, 0, SEEK_DATA);
    while (begin >= 0 && begin < end) {
        off_t hole = lseek(data_fd, begin, SEEK_HOLE);
        if (hole < 0 || hole > end)
            hole = end;
        while (begin < hole) {
            ssize_t got = syscall(SYS_pread64, data_fd, region->working + begin, (size_t)(hole - begin), begin);
            if (got <= 0)
                return got < 0 ? -errno : -EIO;
            begin += got;
        }
        begin = lseek(data_fd, begin, SEEK_DATA);
    }
    return begin < 0 && errno != ENXIO ? -errno : 0;
}

static int backing_open(struct region *region, int data_fd) {
    region->backing = map_shared(data_fd, region->span_bytes, NULL); /* beyond the end too: the file may grow */
    if (region->backing == MAP_FAILED) {
        region->backing = NULL;
        return -errno;
    }
    struct recovery recovery;
    int status = recover(region->log, region->backing, region->bytes, region->protocol, &recovery);
    if (status < 0)
        return status;
    region->epoch = recovery.epoch_next;
    region->epoch_record = recovery.epoch_next - 1;
    region->stats = (struct snapshot_stats){.lines_undone = recovery.lines_undone,
                                            .lines_replayed = recovery.lines_replayed,
                                            .recovered_epoch = recovery.epoch,
                                            .fences = 2};
    return 0;
}

/* Map zeroed memory for the whole span; it takes DRAM at the first access to each page. */
static int map_table(uint64_t bytes, void *table) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *memory = kernel_mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED)
        return -errno;
    memcpy(table, &memory, sizeof(memory));
    return 0;
}

static int working_open(struct region *region, const struct open_request *request) {
    struct file_record record = file_record_read(region->log);
    const void *hint = request->hint ? request->hint : (const void *)record.address;
    enum arena_place place = request->flags & SNAPSHOT_FIXED ? ARENA_FIXED
                             : request->hint                 ? ARENA_ANYWHERE
                                                             : ARENA_AGAIN;
    int status = map_table(region->span_bytes / LINE_BYTES, &region->line_states);
    if (status == 0)
        status = map_table(region->span_bytes / SNAPSHOT_PAGE, &region->page_wanted);
    if (status == 0)
        status = map_table(region->span_bytes / SNAPSHOT_PAGE * sizeof(uint32_t), &region->pages);
    if (status == 0)
        status = arena_reserve(region->span_bytes, hint, place, &region->working);
    if (status == 0)
        status = arena_populate(region->working, region->mapped_bytes);
    if (status == 0)
        status = epochs_page_in(region, request->flags);
    if (status == 0) /* by lock_fd: lseek() must not move the position of the caller's descriptor */
        status = working_fill(region, region->lock_fd);
    if (status < 0)
        return status;
    if (record.address != (uint64_t)region->working) {
        record.address = (uint64_t)region->working;
        file_record_write(region->log, record);
    }
    return tracker_watch(region, 0, region->mapped_bytes);
}

/* The shadow starts as the committed content. */
static int check_open(struct region *region) {
    if (!check_is_wanted())
        return 0;
    int status = map_table(region->span_bytes, &region->shadow);
    if (status == 0)
        status = map_table(region->span_bytes / LINE_BYTES, &region->announced);
    for (uint64_t at = 0; status == 0 && at < region->mapped_bytes; at += SNAPSHOT_PAGE)
        if (memcmp(region->shadow + at, region->working + at, SNAPSHOT_PAGE) != 0)
            memcpy(region->shadow + at, region->working + at, SNAPSHOT_PAGE);
    return status;
}

/* Twice the size, so that most files never outgrow it. */
static uint64_t span_for(uint64_t bytes) {
    uint64_t span = SPAN_BYTES_MIN;
    while (span < 2 * bytes)
        span *= 2;
    return span < DATA_BYTES_MAX ? span : DATA_BYTES_MAX;
}

static int region_lock(struct region *region, const struct open_request *request) {
    struct stat status;
    if (fstat(request->fd, &status) < 0)
        return -errno;
    int result = S_ISREG(status.st_mode) ? file_lock(region, request) : -EINVAL;
    return result == 0 && request->recover_only ? log_file_find(region, request->path) : result;
}

/* Commits rely on the size, and the program that set it, or copied the file, may not have made it durable. */
static int size_sync(int fd, uint64_t bytes) {
    if (bytes == 0)
        return 0;
    return syscall(SYS_fsync, fd) < 0 ? -errno : 0; /* the system call: the interposed fsync() commits */
}

/* Called with the file or its log locked: no other process resizes it now. */
static int region_size(struct region *region, const struct open_request *request) {
    struct stat status;
    if (fstat(request->fd, &status) < 0)
        return -errno;
    region->bytes = (uint64_t)status.st_size;
    if (region->bytes > DATA_BYTES_MAX || request->room_bytes > DATA_BYTES_MAX)
        return -EFBIG;
    if (snprintf(region->path, sizeof(region->path), "%s", request->path) >= (int)sizeof(region->path))
        return -ENAMETOOLONG;
    region->mapped_bytes = (region->bytes + SNAPSHOT_PAGE - 1) / SNAPSHOT_PAGE * SNAPSHOT_PAGE;
    region->span_bytes = span_for(region->bytes > request->room_bytes ? region->bytes : request->room_bytes);
    int result = file_identity_read(request->fd, &region->identity);
    if (result == 0)
        result = size_sync(request->fd, region->bytes);
    if (result < 0 || request->flags & SNAPSHOT_ADOPT)
        return result; /* a log to adopt is not stale, however little data the copy of the file contains */
    return log_file_discard_stale(region, request->fd, &status);
}

static void region_release(struct region *region) {
    tracker_close(region);
    epochs_release(region);
    if (region->working)
        arena_release(region->working, region->span_bytes);
    thread_logs_free(region);
    held_free(region);
    if (region->line_states)
        kernel_munmap((void *)region->line_states, region->span_bytes / LINE_BYTES);
    if (region->page_wanted)
        kernel_munmap((void *)region->page_wanted, region->span_bytes / SNAPSHOT_PAGE);
    if (region->pages)
        kernel_munmap(region->pages, region->span_bytes / SNAPSHOT_PAGE * sizeof(uint32_t));
    if (region->shadow)
        kernel_munmap(region->shadow, region->span_bytes);
    if (region->announced)
        kernel_munmap(region->announced, region->span_bytes / LINE_BYTES);
    if (region->backing)
        kernel_munmap(region->backing, region->span_bytes);
    log_file_close(region);
    lock_close(&region->lock_fd);
    memset(region, 0, sizeof(*region));
}

static int region_fill(struct region *region, const struct open_request *request) {
    region->protocol = protocol_choose(tracker_flags_removed(request->flags));
    int status = region->protocol ? tracker_open(region, request) : -EINVAL;
    if (status == 0)
        status = region_lock(region, request);
    if (status == 0)
        status = region_size(region, request);
    if (status == 0)
        status = log_file_open(region, request->path, request->flags);
    if (status == 0)
        status = file_record_open(region, request->flags & SNAPSHOT_ADOPT);
    if (status == 0)
        status = backing_open(region, request->fd);
    if (status < 0 || request->recover_only)
        return status;
    status = working_open(region, request);
    if (status == 0)
        status = check_open(region);
    return status;
}

static int region_open_locked(const struct open_request *request, struct region **out) {
    struct region *region = regions;
    while (region < regions + REGIONS_MAX && region_is_open(region))
        region++;
    if (region == regions + REGIONS_MAX)
        return -EMFILE;
    memset(region, 0, sizeof(*region));
    region->log_fd = region->data_fd = region->lock_fd = -1;
    pthread_mutex_init(&region->mutex, NULL);
    contents_init(region);
    int status = region_fill(region, request);
    if (status < 0) {
        region_release(region);
        return status;
    }
    epochs_open(region);
    if (!request->recover_only)
        generation_set(region, ++generation_last);
    *out = region;
    return 0;
}

int region_open(const struct open_request *request, struct region **out) {
    fork_watch();
    return region_open_locked(request, out);
}

/*
 * A closed file does not need its log any more, so no later change to the file is taken for a crash. A file with a
 * damaged log is closed, too, and left as a crash would leave it.
 */
static int region_close_locked(struct region *region) {
    epochs_close(region);
    int status = region->inherited ? 0 : region_detach(region);
    generation_set(region, 0);
    if (region->data_fd >= 0)
        syscall(SYS_close, region->data_fd);
    region_release(region);
    return status;
}

int region_close(struct region *region) {
    regions_lock();
    while (atomic_load(&region->users) > 0)
        regions_let_others();
    int status = region_close_locked(region);
    regions_unlock();
    return status;
}

/* Creates no working copy, and takes one step: no other thread finds the file half open. */
int region_recover(int fd, const char *path) {
    struct open_request request = {.fd = fd, .path = path, .recover_only = true};
    struct region *region = NULL;
    regions_lock();
    int status = region_open_locked(&request, &region);
    if (status == 0)
        status = region_close_locked(region);
    regions_unlock();
    return status;
}

/* Allocate blocks and page table entries now, so that no store and no commit pays for them. */
void region_populate(struct region *region) {
    if (region->mapped_bytes > 0 && madvise(region->backing, region->mapped_bytes, MADV_POPULATE_WRITE) == 0)
        memset((void *)region->page_wanted, 1, region->mapped_bytes / SNAPSHOT_PAGE);
}

int region_msync(struct region *region, enum commit_mode mode) {
    if (region->inherited)
        return -EPERM;
    thread_waits(); /* the thread leaves other files, too */
    return epochs_are_kept(region) ? epochs_commit(region) : region_commit(region, mode);
}

int region_invalidate(struct region *region) {
    if (region->inherited)
        return -EPERM;
    return epochs_are_kept(region) ? epochs_rollback(region) : region_rollback(region);
}

/*
 * A program that ends need not unmap its files: readers of the files then find the committed content. The lock is
 * needed, because threads that still run may open, move and close files. If a signal handler ends the program, and has
 * interrupted the library at work on a file, the file and its log stay as a crash would leave them.
 */
__attribute__((destructor)) void regions_publish_at_exit(void) {
    if (mutex_is_own(&regions_mutex))
        return;
    regions_lock();
    for (size_t i = 0; i < REGIONS_MAX; i++)
        if (region_is_open(&regions[i]) && !regions[i].inherited && !thread_is_at_work(&regions[i])) {
            check_discard(&regions[i], "the program ends");
            if (region_publish(&regions[i]) < 0)
                dprintf(STDERR_FILENO, "snapshot: %s: its log is damaged, and the file lacks what only the log had\n",
                        regions[i].path);
        }
    regions_unlock();
}
