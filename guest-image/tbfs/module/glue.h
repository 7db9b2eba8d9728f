/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The glue between the core and the kernel. The kernel's inodes are a cache of the core's: after each call that changes
 * one it is taken anew, under the same lock.
 *
 * Locks, from the outside: the kernel's own of an inode; its invalidate_lock, which keeps faults away from blocks that
 * come and go; the volume's. Under the last one nothing is allocated and no page fault is served.
 */
#ifndef TBFS_GLUE_H
#define TBFS_GLUE_H

#include <linux/dax.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "tbfs.h"

struct volume {
    struct mutex lock; /* the core makes one call at a time */
    struct tbfs fs;
    u64 calls; /* of the core, but for those that merge in the background */
    struct delayed_work merging;
    u64 calls_seen;  /* by it: nobody has called since, if there are no more */
    bool may_merge;  /* until it is unmounted */
    bool has_copies; /* processes may have pages of logs as copies, which a change would not reach */
    void *memory;
    struct dax_device *dax;
    u64 dax_offset; /* at which the block device begins in it */
};

static inline struct volume *volume_of(const struct inode *inode) { return inode->i_sb->s_fs_info; }

static inline struct tbfs *core_lock(const struct inode *inode) {
    mutex_lock(&volume_of(inode)->lock);
    volume_of(inode)->calls++;
    return &volume_of(inode)->fs;
}

/* background.c: what merges logs while nobody calls; after which no more are merged. */
void background_init(struct volume *volume);
void background_wake(struct volume *volume); /* under the lock */
void background_end(struct volume *volume);

static inline void core_unlock(const struct inode *inode) {
    struct volume *volume = volume_of(inode);

    if (volume->fs.options.hybrid.gc_low_percent && tbfs_wants_merge(&volume->fs))
        background_wake(volume);
    mutex_unlock(&volume->lock);
}

static inline u32 now(void) { return (u32)ktime_get_real_seconds(); }

/* persist_pmem.c: whether this processor stores so many bytes at once. */
bool pm_has_store(unsigned bytes);

/* inode.c: the inode of a number; that of a new number, whose kind is known; and what the core has of it now. */
struct inode *inode_open(struct super_block *sb, u64 ino);
void inode_set_operations(struct inode *inode);
void inode_refresh(struct tbfs *fs, struct inode *inode); /* under the lock */
int inode_setattr(struct mnt_idmap *idmap, struct dentry *dentry, struct iattr *change);
int inode_update(struct inode *inode, int flags);

/* file.c: the parts of a file that are to get other blocks, or none, are in no process's memory and in no cache. The
 * caller holds the invalidate_lock. -ERESTARTSYS: a signal came first. */
int file_unmap(struct inode *inode, u64 begin, u64 end);

extern const struct super_operations tbfs_super_operations;
extern const struct inode_operations tbfs_directory_inode_operations, tbfs_file_inode_operations;
extern const struct file_operations tbfs_directory_operations, tbfs_file_operations;
extern const struct address_space_operations tbfs_mapping_operations;

#endif
