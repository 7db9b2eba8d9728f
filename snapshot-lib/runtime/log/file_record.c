/* SPDX-License-Identifier: BSD-3-Clause */
/* Identifies the file of a log by inode and birth: a log must never be applied to another file, or to one of another
 * size. */
#define _GNU_SOURCE
#include "file_record.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "hash.h"
#include "log_file.h"
#include "persist.h"

int file_identity_read(int fd, struct file_identity *identity) {
    struct statx status;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) < 0)
        return -errno;
    bool has_birth = status.stx_mask & STATX_BTIME;
    const uint64_t ns_per_s = 1000000000;
    *identity = (struct file_identity){
        .device = makedev(status.stx_dev_major, status.stx_dev_minor),
        .inode = status.stx_ino,
        .birth_ns = has_birth ? (uint64_t)status.stx_btime.tv_sec * ns_per_s + status.stx_btime.tv_nsec : 0};
    return 0;
}

static bool is_valid(const struct file_record *record) {
    return record->sequence > 0 && record->checksum == self_checksum(record);
}

static struct file_record newest(const struct file_record *even, const struct file_record *odd) {
    bool even_counts = is_valid(even) && !(is_valid(odd) && odd->sequence > even->sequence);
    if (even_counts)
        return *even;
    return is_valid(odd) ? *odd : (struct file_record){0};
}

/* The returned sequence is 0 if neither record is valid. */
struct file_record file_record_read(struct log_view log) {
    return newest((const void *)(log.base + log_file_record_offset(0)),
                  (const void *)(log.base + log_file_record_offset(1)));
}

/* Write the successor of the record that `record` was read from; durable on return. */
void file_record_write(struct log_view log, struct file_record record) {
    _Alignas(LINE_BYTES) struct file_record next = record;
    next.sequence++;
    next.checksum = self_checksum(&next);
    persist_copy(log.base + log_file_record_offset(next.sequence), &next, sizeof(next));
    persist_fence();
}

static bool is_of(const struct file_record *record, const struct file_identity *identity) {
    return record->inode == identity->inode && record->birth_ns == identity->birth_ns;
}

/* For a log that is not mapped. False also if the log has no valid file record. */
bool file_record_is_of_another(int log_fd, const struct file_identity *identity) {
    _Alignas(LINE_BYTES) struct file_record even = {0}, odd = {0};
    const ssize_t bytes = sizeof(even);
    if (syscall(SYS_pread64, log_fd, &even, sizeof(even), (off_t)log_file_record_offset(0)) != bytes ||
        syscall(SYS_pread64, log_fd, &odd, sizeof(odd), (off_t)log_file_record_offset(1)) != bytes)
        return false;
    struct file_record record = newest(&even, &odd);
    return record.sequence > 0 && !is_of(&record, identity);
}

/* A log that asserts something must not be used with a file of another size. Any other log fits any size. */
static bool fits(const struct region *region, const struct file_record *record) {
    if (region->bytes == record->bytes || region->bytes == record->bytes_next)
        return true;
    return log_says_nothing(region->log);
}

/*
 * Check whether the log that lies beside the file belongs to it. Returns 0, -EUCLEAN: the log is damaged, -ESTALE: it
 * belongs to another file, -EINVAL: to a file of another size. `adopt` states that file and log are copies of a pair
 * that belonged together. The function completes a resize that a crash interrupted, and notes one that was made while
 * the file was closed.
 */
int file_record_open(struct region *region, bool adopt) {
    struct file_record record = file_record_read(region->log);
    if (record.sequence == 0)
        return -EUCLEAN;
    bool own = is_of(&record, &region->identity);
    if (!own && !adopt)
        return -ESTALE;
    if (!fits(region, &record))
        return -EINVAL;
    if (own && region->bytes == record.bytes && record.bytes == record.bytes_next)
        return 0;
    record.inode = region->identity.inode;
    record.birth_ns = region->identity.birth_ns;
    record.bytes = record.bytes_next = region->bytes;
    file_record_write(region->log, record);
    return 0;
}
