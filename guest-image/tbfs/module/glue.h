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
#include <linux/jump_label.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "tbfs.h"

/* What a mount asks of the persistence layer: that fences wait for pm_wbarrier, too; that the kernel has the medium
 * read-only, and each store a window. */
struct pm_rules {
    bool barrier, wprotect;
};

struct volume {
    struct mutex lock; /* the core makes one call at a time */
    struct tbfs fs;
    struct super_block *sb;
    u64 calls; /* of the core, but for those that merge in the background */
    struct delayed_work merging;
    u64 calls_seen;  /* by it: nobody has called since, if there are no more */
    bool may_merge;  /* until it is unmounted */
    bool has_copies; /* processes may have pages of logs as copies, which a change would not reach */
    void *memory;
    struct pm_rules rules;
    void *protected; /* the medium, read-only; null: it is not asked for */
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

/* persist_pmem.c: whether this processor stores so many bytes at once, and whether this machine has pm_wbarrier. */
bool pm_has_store(unsigned bytes);
bool pm_has_barrier(void);

/* Between these the rules hold, for all file systems that are mounted. pm_protect() maps memory read-only; null: it
 * cannot be. */
void pm_begin(const struct pm_rules *rules);
void *pm_protect(void *base, long pages);
void pm_end(const struct pm_rules *rules, void *protected);

/* A store within a window reaches memory that is mapped read-only; nothing in it may sleep. The kernel's own function
 * would keep WP set. */
DECLARE_STATIC_KEY_FALSE(pm_has_windows);

static inline void pm_set_cr0(unsigned long value) { asm volatile("mov %0, %%cr0" : : "r"(value) : "memory"); }

/* What the other one takes. Only what pm_protect() has mapped lies there. */
static inline unsigned long pm_window_open(const void *target) {
    unsigned long flags = 0;

    if (static_branch_unlikely(&pm_has_windows) && is_vmalloc_addr(target)) {
        local_irq_save(flags); /* not 0: bit 1 is always set */
        pm_set_cr0(native_read_cr0() & ~X86_CR0_WP);
    }
    return flags;
}

static inline void pm_window_close(unsigned long flags) {
    if (static_branch_unlikely(&pm_has_windows) && flags) {
        pm_set_cr0(native_read_cr0() | X86_CR0_WP);
        local_irq_restore(flags);
    }
}

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
