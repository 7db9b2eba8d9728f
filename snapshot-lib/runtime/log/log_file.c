/* SPDX-License-Identifier: BSD-3-Clause */
/* The log file: creating it whole or not at all, checking, mapping and growing it. */
#define _GNU_SOURCE
#include "log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file_lock.h"
#include "file_record.h"
#include "hash.h"
#include "persist.h"
#include "records.h"
#include "thread_log.h"

#define LOG_INITIAL_BYTES (LOG_CHUNKS_OFFSET + (uint64_t)LOG_CHUNKS_INITIAL * CHUNK_BYTES)

/* The log of the file that is being opened, and a name that only one step needs. The lock of all files is held. They
 * are not on the stack, because a thread may have a stack of 16 KiB. */
static char log_path[PATH_MAX], step_path[PATH_MAX];

/* The files of the library are opened, synchronised and closed by system calls. A libc function may be a cancellation
 * point, and a thread that ended here would leave mutexes locked. An interposed one would search for a log. */
static int file_at(const char *path, int flags) {
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0644);
}
static int file_sync(int fd) { return syscall(SYS_fsync, fd) < 0 ? -errno : 0; }
static int file_rename(const char *from, const char *to, unsigned flags) {
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags);
}
static int file_delete(const char *path) { return syscall(SYS_unlinkat, AT_FDCWD, path, 0) < 0 ? -errno : 0; }

/* Beyond the limit of the process for sizes of files, the kernel would send SIGXFSZ. The program does not expect that
 * signal for a file that is not its own. */
static int file_allocate(int fd, uint64_t from, uint64_t bytes) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && from + bytes > limit.rlim_cur)
        return -ENOSPC;
    return -posix_fallocate(fd, (off_t)from, (off_t)bytes);
}

/* Addresses reserved for growth: every line of the file in each of four sets, and slack for threads. */
static uint64_t log_reserved_bytes(uint64_t data_bytes) { return 5 * data_bytes + (1ull << 30); }

/* On DAX, MAP_SYNC makes block allocation durable before a store can use it. On other mappings data does not survive
 * a power cut. */
void *map_shared(int fd, uint64_t bytes, void *fixed) {
    int place = fixed ? MAP_FIXED : 0;
    void *address = kernel_mmap(fixed, bytes, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC | place, fd, 0);
    if (address == MAP_FAILED)
        address = kernel_mmap(fixed, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | place, fd, 0);
    if (address != MAP_FAILED)
        (void)madvise(address, bytes, MADV_DONTFORK);
    return address;
}

void log_file_format(struct log_view log, const struct protocol *protocol) {
    _Alignas(LINE_BYTES) struct superblock super = {
        .magic = LOG_MAGIC, .version = LOG_VERSION, .byte_order = LOG_BYTE_ORDER};
    super.checksum = self_checksum(&super);
    persist_copy(log.base, &super, sizeof(super));
    record_write(log, (struct record){.protocol = protocol->id});
    persist_fence();
}

int log_file_check(struct log_view log) {
    const struct superblock *super = (const void *)log.base;
    if (log.bytes < LOG_CHUNKS_OFFSET)
        return -EUCLEAN;
    if (super->magic != LOG_MAGIC || super->version != LOG_VERSION || super->byte_order != LOG_BYTE_ORDER)
        return -EINVAL;
    if (super->checksum != self_checksum(super))
        return -EUCLEAN;
    return 0;
}

/* Lock the log and verify that the name still refers to it. -EBUSY: another process has the file, or had it until a
 * moment ago. */
static int log_file_lock(const char *path, int fd) {
    int status = lock_exclusively(fd);
    return status < 0 || path_is_of(path, fd) ? status : -EBUSY;
}

static int log_file_fill(int fd, const struct file_record *file, const struct protocol *protocol) {
    struct log_view log = {.bytes = LOG_INITIAL_BYTES};
    if (syscall(SYS_ftruncate, fd, 0) < 0) /* removes remains of an attempt that crashed */
        return -errno;
    int status = file_allocate(fd, 0, LOG_INITIAL_BYTES);
    if (status < 0)
        return status;
    log.base = map_shared(fd, log.bytes, NULL);
    if (log.base == MAP_FAILED)
        return -errno;
    log_file_format(log, protocol);
    file_record_write(log, *file);
    kernel_munmap(log.base, log.bytes);
    return file_sync(fd);
}

/* Never replaces another log: that would be the log of a file that had the name a moment ago, or has it now. */
static int rename_new(const char *from, const char *to) {
    if (file_rename(from, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno == EEXIST)
        return -EBUSY;
    return errno != EINVAL || file_rename(from, to, 0) < 0 ? -errno : 0; /* EINVAL: no RENAME_NOREPLACE there */
}

/*
 * Create the log under another name and rename it, so that an existing log file is complete. The new file is locked
 * before its first byte is written, so of two processes only one creates it. Returns the descriptor.
 */
static int log_file_create(const struct file_record *file, const struct protocol *protocol) {
    if (snprintf(step_path, sizeof(step_path), "%s.new", log_path) >= (int)sizeof(step_path))
        return -ENAMETOOLONG;
    int fd = file_at(step_path, O_RDWR | O_CREAT);
    if (fd < 0)
        return -errno;
    int status = log_file_lock(step_path, fd);
    if (status < 0) {
        lock_close(&fd);
        return status;
    }
    status = log_file_fill(fd, file, protocol);
    if (status == 0)
        status = rename_new(step_path, log_path);
    if (status == 0)
        return fd;
    (void)file_delete(step_path);
    lock_close(&fd);
    return status;
}

/*
 * The names of log and file must survive a power cut before anything is logged. If the directory may be written but not
 * read, or cannot be synchronised, the whole file system is synchronised.
 */
static int directory_sync(int log_fd) {
    memcpy(step_path, log_path, sizeof(step_path));
    char *slash = strrchr(step_path, '/');
    if (slash)
        slash[slash == step_path] = '\0';
    int fd = file_at(slash ? step_path : ".", O_RDONLY | O_DIRECTORY);
    int status = fd < 0 ? -errno : file_sync(fd);
    if (fd >= 0)
        syscall(SYS_close, fd);
    if (status == -EACCES || status == -EINVAL)
        status = syncfs(log_fd) < 0 ? -errno : 0;
    return status;
}

/* A log that was found is synchronised, too: the process that created, lengthened or copied it may have been killed
 * before it did so. */
static int log_file_sync(int fd, bool is_new) {
    int status = is_new ? 0 : file_sync(fd);
    return status < 0 ? status : directory_sync(fd);
}

static int log_file_map(struct region *region, unsigned flags) {
    struct stat status;
    if (fstat(region->log_fd, &status) < 0)
        return -errno;
    uint64_t reserved = log_reserved_bytes(region->span_bytes);
    void *space = kernel_mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED)
        return -errno;
    region->log = (struct log_view){.base = space, .bytes = (uint64_t)status.st_size};
    if (region->log.bytes < LOG_CHUNKS_OFFSET || region->log.bytes > reserved)
        return -EUCLEAN;
    if (map_shared(region->log_fd, region->log.bytes, space) == MAP_FAILED)
        return -errno;
    if (flags & SNAPSHOT_POPULATE)
        (void)madvise(space, region->log.bytes, MADV_POPULATE_WRITE);
    return log_file_check(region->log);
}

/* Open and lock the log that lies beside the file. -ENOENT: there is none. */
int log_file_find(struct region *region, const char *data_path) {
    if (region->log_fd >= 0)
        return 0;
    if (snprintf(log_path, sizeof(log_path), "%s.snapshot-log", data_path) >= (int)sizeof(log_path))
        return -ENAMETOOLONG;
    region->log_fd = file_at(log_path, O_RDWR);
    return region->log_fd < 0 ? -errno : log_file_lock(log_path, region->log_fd);
}

int log_file_open(struct region *region, const char *data_path, unsigned flags) {
    int status = log_file_find(region, data_path);
    bool is_new = status == -ENOENT;
    if (is_new && region->lock_fd < 0)
        return status; /* only a process that has locked the file creates a log */
    if (is_new) {
        const struct file_identity *identity = &region->identity;
        struct file_record file = {.bytes = region->bytes,
                                   .bytes_next = region->bytes,
                                   .inode = identity->inode,
                                   .birth_ns = identity->birth_ns};
        region->log_fd = log_file_create(&file, region->protocol);
        status = region->log_fd < 0 ? region->log_fd : 0;
    }
    if (status == 0)
        status = log_file_sync(region->log_fd, is_new);
    return status < 0 ? status : log_file_map(region, flags);
}

/* True if the newest record declares the file whole and nothing in the log is newer: losing it loses nothing. */
bool log_says_nothing(struct log_view log) {
    struct record last;
    if (log_file_check(log) < 0 || !record_newest(log, &last) || last.line_count > 0)
        return false;
    for (uint64_t chunk = 0; chunk < log_chunk_count(log.bytes); chunk++) {
        const struct block_header *first = (const void *)(log.base + LOG_CHUNKS_OFFSET + chunk * CHUNK_BYTES);
        if (first->epoch > last.epoch)
            return false;
    }
    return true;
}

static bool log_file_says_nothing(int fd) {
    struct stat status;
    if (fstat(fd, &status) < 0)
        return false;
    struct log_view log = {.bytes = (uint64_t)status.st_size};
    log.base = kernel_mmap(NULL, log.bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (log.base == MAP_FAILED)
        return false;
    bool nothing = log_says_nothing(log);
    kernel_munmap(log.base, log.bytes);
    return nothing;
}

/*
 * A log beside a file without data belonged to an earlier file of that name, which was deleted, or emptied by a program
 * that does not know about logs. But a sparse copy has no data either while its log has the only copy of the commits.
 * So a log of another file is only discarded if it asserts nothing. The emptied file is made durable before the log is
 * deleted.
 */
int log_file_discard_stale(struct region *region, int data_fd, const struct stat *data) {
    if (data->st_size > 0 && data->st_blocks > 0)
        return 0;
    int status = log_file_find(region, region->path);
    if (status < 0)
        return status == -ENOENT ? 0 : status;
    bool is_of_another = file_record_is_of_another(region->log_fd, &region->identity);
    bool says_nothing = log_file_says_nothing(region->log_fd);
    if (is_of_another ? !says_nothing : data->st_size > 0)
        return 0;
    status = file_sync(data_fd);
    if (status == 0)
        status = file_delete(log_path);
    lock_close(&region->log_fd);
    return status;
}

/* Grows to at least twice the size, so that growth stays rare. A failure changes nothing. */
static int log_file_grow_locked(struct region *region, uint64_t chunk_count) {
    uint64_t present = log_chunk_count(region->log.bytes);
    if (chunk_count <= present)
        return 0;
    uint64_t wanted = chunk_count > 2 * present ? chunk_count : 2 * present;
    uint64_t bytes = LOG_CHUNKS_OFFSET + wanted * CHUNK_BYTES;
    if (bytes > log_reserved_bytes(region->span_bytes))
        return -ENOSPC;
    uint64_t old_bytes = region->log.bytes;
    int status = file_allocate(region->log_fd, old_bytes, bytes - old_bytes);
    if (status < 0 || file_sync(region->log_fd) < 0) {
        (void)syscall(SYS_ftruncate, region->log_fd, old_bytes);
        return -ENOSPC;
    }
    if (map_shared(region->log_fd, bytes, region->log.base) == MAP_FAILED)
        return -ENOSPC;
    __atomic_store_n(&region->log.bytes, bytes, __ATOMIC_RELEASE); /* statistics read it without the lock */
    return 0;
}

static pthread_mutex_t growing = PTHREAD_MUTEX_INITIALIZER;

/* Another thread may have held the lock at the fork, and a child may track other files. */
void log_file_inherit(void) { pthread_mutex_init(&growing, NULL); }

/* Threads that begin an epoch at the same time each take a chunk: they must not queue for a lock if there is space. */
int log_file_grow(struct region *region, uint64_t chunk_count) {
    if (chunk_count <= log_chunk_count(__atomic_load_n(&region->log.bytes, __ATOMIC_ACQUIRE)))
        return 0;
    pthread_mutex_lock(&growing);
    int status = log_file_grow_locked(region, chunk_count);
    pthread_mutex_unlock(&growing);
    return status;
}

/* Reserve more addresses, for the log of a file with a span of this size. */
int log_file_move(struct region *region, uint64_t span_bytes) {
    uint64_t reserved = log_reserved_bytes(span_bytes);
    uint8_t *space = kernel_mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED)
        return -errno;
    if (map_shared(region->log_fd, region->log.bytes, space) == MAP_FAILED) {
        int error = errno;
        kernel_munmap(space, reserved);
        return -error;
    }
    for_each_thread (thread, region) {
        relisted_free(thread); /* it has the length of the old span */
        if (!thread->chunk)
            continue;
        thread->chunk = space + (thread->chunk - region->log.base);
        thread->chunk_end = space + (thread->chunk_end - region->log.base);
    }
    kernel_munmap(region->log.base, log_reserved_bytes(region->span_bytes));
    region->log.base = space;
    return 0;
}

void log_file_close(struct region *region) {
    if (region->log.base)
        kernel_munmap(region->log.base, log_reserved_bytes(region->span_bytes));
    lock_close(&region->log_fd);
    region->log = (struct log_view){0};
}
