/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * The kernel module fams, as a program has it. Each open file of /dev/fams is a store of its own:
 *
 *     int fd = open("/dev/fams", O_RDWR);
 *     struct fams_attach attach = {.device = open("/dev/pmem0", O_RDWR)};
 *     ioctl(fd, FAMS_ATTACH, &attach);
 *     mmap(NULL, attach.data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
 *
 * What is stored to the mapping reaches the device by a commit only, all of it or nothing: msync(MS_SYNC), fsync(), or
 * FAMS_DECLARE, which does not wait. A commit of more pages than attach.commit_pages fails with EFBIG and has changed
 * nothing. EUCLEAN: the module has found its own state broken. The store then takes no commit any more, and the device
 * keeps the last one.
 */
#ifndef FAMS_IOCTL_H
#define FAMS_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FAMS_NEW 1u /* make a new store, whose data are what the device holds behind the journal */

struct fams_attach {
    __s32 device; /* of a block device with DAX, which nobody else may have then */
    __u32 flags;
    __u64 journal_bytes; /* of a new store: a multiple of 4096 */
    __u64 data_bytes;    /* given back: the size of the data */
    __u64 commit_pages;  /* given back: the most pages of one commit */
};

/* Every page that has one of these bytes. */
struct fams_range {
    __u64 offset, bytes;
};

/* Recovers. ENODATA: the device has no store; EBUSY: somebody else has the device, or this file has one already;
 * ENOTBLK, EBADF, EOPNOTSUPP: no block device, not open for writing, without DAX; EINVAL, ENOSPC: of FAMS_NEW, the
 * journal is no multiple of a page, or has no room for a page or leaves none. */
#define FAMS_ATTACH _IOWR(0xfa, 0, struct fams_attach)
/* What msync(MS_INVALIDATE) is to do: the range is what it was at the last commit. */
#define FAMS_ROLLBACK _IOW(0xfa, 1, struct fams_range)
/* What msync(MS_ASYNC) is to do: what the range holds now is the next commit, which is made later, and before any
 * other. EFBIG as above. */
#define FAMS_DECLARE _IOW(0xfa, 2, struct fams_range)

#endif
