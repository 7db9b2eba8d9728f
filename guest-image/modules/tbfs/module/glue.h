/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The glue between the core and the kernel. The kernel's inodes cache the core's: each call that changes an inode
 * refreshes the kernel's one under the same lock.
 *
 * Lock order, outermost first: the kernel's own lock of an inode; its invalidate_lock, which keeps page faults away
 * from blocks that are allocated or freed; the volume's `writing_back`; the volume's `lock` of the core. Code under the
 * last one allocates no memory and takes no page fault.
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

/* Options of a mount for the persistence layer. `barrier`: fences also wait for pm_wbarrier. `wprotect`: the kernel
 * maps the medium read-only, and each store has a window. */
struct pm_rules {
    bool barrier, wprotect;
};

struct volume {
    struct mutex lock;         /* serialises the calls of the core */
    struct mutex writing_back; /* held while mapped pages are written back, until they are durable */
    struct tbfs fs;
    struct super_block *sb;
    u64 calls; /* of the core, except those that merge in the background */
    struct delayed_work merging;
    u64 calls_seen;  /* `calls` when merging was scheduled; equal: no call has come since */
    bool may_merge;  /* false from the unmount on */
    bool has_copies; /* processes may map copies of pages with logs, which a change would not reach */
    void *memory;
    struct pm_rules rules;
    void *protected; /* the medium, mapped read-only; null without `wprotect` */
    struct dax_device *dax;
    u64 dax_offset; /* of the block device in `dax` */
};

static inline struct volume *volume_of(const struct inode *inode) { return inode->i_sb->s_fs_info; }

/*
 * Wait until every flush of mapped pages that is under way has had its fence. The kernel passes over pages and inodes
 * without marks, and such a flush clears the marks before its fence.
 */
static inline void wait_for_writing_back(struct volume *volume) {
    mutex_lock(&volume->writing_back);
    mutex_unlock(&volume->writing_back);
}

static inline struct tbfs *core_lock(const struct inode *inode) {
    mutex_lock(&volume_of(inode)->lock);
    volume_of(inode)->calls++;
    return &volume_of(inode)->fs;
}

/* background.c: merges logs while no call comes. After background_end() none is merged. */
void background_init(struct volume *volume);
void background_wake(struct volume *volume); /* with the lock held */
void background_end(struct volume *volume);

static inline void core_unlock(const struct inode *inode) {
    struct volume *volume = volume_of(inode);

    if (volume->fs.options.hybrid.gc_low_percent && tbfs_wants_merge(&volume->fs))
        background_wake(volume);
    mutex_unlock(&volume->lock);
}

static inline u32 now(void) { return (u32)ktime_get_real_seconds(); }

/* persist_pmem.c: whether this processor has an atomic store of this size, and whether this machine has pm_wbarrier. */
bool pm_has_store(unsigned bytes);
bool pm_has_barrier(void);

/* The rules apply from pm_begin() to pm_end(), for all mounted file systems. pm_protect() maps memory read-only; null:
 * this failed. */
void pm_begin(const struct pm_rules *rules);
void *pm_protect(void *base, long pages);
void pm_end(const struct pm_rules *rules, void *protected);

/* A store within a window can write to memory that is mapped read-only; code in a window must not sleep. The kernel's
 * own function for CR0 would keep WP set. */
DECLARE_STATIC_KEY_FALSE(pm_has_windows);

static inline void pm_set_cr0(unsigned long value) { asm volatile("mov %0, %%cr0" : : "r"(value) : "memory"); }

/* Returns the argument of pm_window_close(). Of the targets, only memory that pm_protect() has mapped is in the vmalloc
 * area. */
static inline unsigned long pm_window_open(const void *target) {
    unsigned long flags = 0;

    if (static_branch_unlikely(&pm_has_windows) && is_vmalloc_addr(target)) {
        local_irq_save(flags); /* never 0: bit 1 is always set */
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

/* inode.c: opens the inode of a number; sets the operations of an inode by its kind; copies the core's present state of
 * an inode to the kernel's. */
struct inode *inode_open(struct super_block *sb, u64 ino);
void inode_set_operations(struct inode *inode);
void inode_refresh(struct tbfs *fs, struct inode *inode); /* with the lock held */
int inode_setattr(struct mnt_idmap *idmap, struct dentry *dentry, struct iattr *change);
int inode_update(struct inode *inode, int flags);

/* file.c: removes a range of a file from all processes and from the cache, before its blocks change or are freed. The
 * caller holds the invalidate_lock. -ERESTARTSYS: interrupted by a signal. */
int file_unmap(struct inode *inode, u64 begin, u64 end);

extern const struct super_operations tbfs_super_operations;
extern const struct inode_operations tbfs_directory_inode_operations, tbfs_file_inode_operations;
extern const struct file_operations tbfs_directory_operations, tbfs_file_operations;
extern const struct address_space_operations tbfs_mapping_operations;

#endif
