/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * The interface of the kernel module fams for programs. Each open file of /dev/fams is a separate store:
 *
 *     int fd = open("/dev/fams", O_RDWR);
 *     struct fams_attach attach = {.device = open("/dev/pmem0", O_RDWR)};
 *     ioctl(fd, FAMS_ATTACH, &attach);
 *     mmap(NULL, attach.data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
 *
 * Stores to the mapping reach the device only by a commit, all of them or none: msync(MS_SYNC), fsync(), or
 * FAMS_DECLARE, which does not wait. A commit of more pages than attach.commit_pages fails with EFBIG and changes
 * nothing. EUCLEAN: the module has found its own state broken. The store then accepts no further commit, and the device
 * keeps the last one.
 */
#ifndef FAMS_IOCTL_H
#define FAMS_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FAMS_NEW 1u /* make a new store; the device's content behind the journal becomes its data */

struct fams_attach {
    __s32 device; /* a block device with DAX, which no other user may have open */
    __u32 flags;
    __u64 journal_bytes; /* of a new store only: a multiple of 4096 */
    __u64 data_bytes;    /* returned: the size of the data */
    __u64 commit_pages;  /* returned: the most pages of one commit */
};

/* All pages that contain one of these bytes. */
struct fams_range {
    __u64 offset, bytes;
};

/* Opens the store on a device, and recovers it. ENODATA: the device holds no store. EBUSY: another user has the device
 * open, or this file is attached already. ENOTBLK, EBADF, EOPNOTSUPP: not a block device, not open for writing, without
 * DAX. With FAMS_NEW, EINVAL: the journal is not a multiple of a page; ENOSPC: the journal has no space for a page, or
 * leaves none for the data. */
#define FAMS_ATTACH _IOWR(0xfa, 0, struct fams_attach)
/* The task of msync(MS_INVALIDATE): returns the range to its state at the last commit. */
#define FAMS_ROLLBACK _IOW(0xfa, 1, struct fams_range)
/* The task of msync(MS_ASYNC): the present content of the range becomes the next commit, which is made later, and
 * before any other. EFBIG as above. */
#define FAMS_DECLARE _IOW(0xfa, 2, struct fams_range)

#endif
