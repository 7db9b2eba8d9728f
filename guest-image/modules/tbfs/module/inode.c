// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/blk_types.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/statfs.h>

#include "glue.h"

static void take(struct inode *inode, const struct tbfs_inode *from) {
    inode->i_mode = from->mode;
    i_uid_write(inode, from->uid);
    i_gid_write(inode, from->gid);
    set_nlink(inode, from->links);
    inode_set_atime(inode, from->atime, 0);
    inode_set_mtime(inode, from->mtime, 0);
    inode_set_ctime(inode, from->ctime, 0);
    inode->i_generation = from->generation;
    inode->i_blocks = from->blocks * (TBFS_BLOCK_BYTES / SECTOR_SIZE);
    inode->i_rdev = new_decode_dev(from->rdev);
    i_size_write(inode, from->size);
}

void inode_refresh(struct tbfs *fs, struct inode *inode) {
    struct tbfs_inode from;

    if (tbfs_inode_get(fs, inode->i_ino, &from) == 0)
        take(inode, &from);
}

static const struct inode_operations symlink_inode_operations = {
    .get_link = simple_get_link,
    .setattr = inode_setattr,
    .update_time = inode_update,
};

static const struct inode_operations special_inode_operations = {
    .setattr = inode_setattr,
    .update_time = inode_update,
};

void inode_set_operations(struct inode *inode) {
    if (S_ISREG(inode->i_mode)) {
        inode->i_flags |= S_DAX;
        inode->i_op = &tbfs_file_inode_operations;
        inode->i_fop = &tbfs_file_operations;
        inode->i_mapping->a_ops = &tbfs_mapping_operations;
    } else if (S_ISDIR(inode->i_mode)) {
        inode->i_op = &tbfs_directory_inode_operations;
        inode->i_fop = &tbfs_directory_operations;
    } else if (S_ISLNK(inode->i_mode)) {
        inode->i_op = &symlink_inode_operations;
    } else {
        inode->i_op = &special_inode_operations;
        init_special_inode(inode, inode->i_mode, inode->i_rdev);
    }
}

/* The core has checked the block trees, but not these fields. */
static bool is_sound(const struct tbfs_inode *inode) {
    switch (inode->mode & S_IFMT) {
    case S_IFREG:
    case S_IFDIR:
    case S_IFCHR:
    case S_IFBLK:
    case S_IFIFO:
    case S_IFSOCK:
        return inode->links > 0;
    case S_IFLNK:
        return inode->links > 0 && inode->size > 0 && inode->size < TBFS_BLOCK_BYTES;
    }
    return false;
}

/* A link's target stays in memory as long as its inode. */
static int read_target(struct inode *inode) {
    size_t bytes = i_size_read(inode);
    char *target = kzalloc(bytes + 1, GFP_KERNEL);
    s64 got;

    if (!target)
        return -ENOMEM;
    inode->i_link = target;
    got = tbfs_read(core_lock(inode), inode->i_ino, 0, target, bytes);
    core_unlock(inode);
    return got == bytes && strlen(target) == bytes ? 0 : -EUCLEAN;
}

static int load(struct inode *inode) {
    struct tbfs_inode from;
    int status = tbfs_inode_get(core_lock(inode), inode->i_ino, &from);

    if (status == 0 && !is_sound(&from))
        status = -EUCLEAN;
    if (status == 0)
        take(inode, &from);
    core_unlock(inode);
    if (status == 0 && S_ISLNK(inode->i_mode))
        status = read_target(inode);
    if (status == 0)
        inode_set_operations(inode);
    return status;
}

struct inode *inode_open(struct super_block *sb, u64 ino) {
    struct inode *inode = iget_locked(sb, ino);
    int status;

    if (!inode)
        return ERR_PTR(-ENOMEM);
    if (!(inode->i_state & I_NEW))
        return inode;
    status = load(inode);
    if (status < 0) {
        kfree(inode->i_link); /* iget_failed() changes the inode's kind, so free_inode() would not free the target */
        inode->i_link = NULL;
        iget_failed(inode);
        return ERR_PTR(status);
    }
    unlock_new_inode(inode);
    return inode;
}

/* After a failed creation the inode has number 0, and the core has nothing to evict. */
static void evict(struct inode *inode) {
    bool is_orphan = !inode->i_nlink && inode->i_ino && !is_bad_inode(inode);

    truncate_inode_pages_final(&inode->i_data);
    clear_inode(inode);
    if (is_orphan) {
        tbfs_evict(core_lock(inode), inode->i_ino, now());
        core_unlock(inode);
    }
}

static void free_inode(struct inode *inode) {
    if (S_ISLNK(inode->i_mode))
        kfree(inode->i_link);
    free_inode_nonrcu(inode);
}

static int resize(struct inode *inode, u64 size) {
    int status = 0;

    filemap_invalidate_lock(inode->i_mapping);
    if (size < i_size_read(inode))
        status = file_unmap(inode, size, LLONG_MAX);
    if (status == 0) {
        struct tbfs *fs = core_lock(inode);

        status = tbfs_truncate(fs, inode->i_ino, size, now());
        inode_refresh(fs, inode);
        core_unlock(inode);
    }
    if (status == 0)
        truncate_pagecache(inode, size); /* unmaps private copies of pages, too */
    filemap_invalidate_unlock(inode->i_mapping);
    return status;
}

/*
 * The caller holds the core's lock, and has changed the kernel's inode under it. A page fault refreshes that inode
 * without the inode's own lock. Between two critical sections it could undo an attribute that the core does not have
 * yet, or write an old one back.
 */
static int write_attributes(struct tbfs *fs, struct inode *inode) {
    struct tbfs_change change = {
        .which = TBFS_SET_MODE | TBFS_SET_OWNER | TBFS_SET_MTIME | TBFS_SET_ATIME,
        .mode = inode->i_mode,
        .uid = i_uid_read(inode),
        .gid = i_gid_read(inode),
        .mtime = (u32)inode_get_mtime_sec(inode),
        .atime = (u32)inode_get_atime_sec(inode),
    };
    int status = tbfs_inode_set(fs, inode->i_ino, &change, (u32)inode_get_ctime_sec(inode));

    inode_refresh(fs, inode);
    return status;
}

int inode_setattr(struct mnt_idmap *idmap, struct dentry *dentry, struct iattr *change) {
    struct inode *inode = d_inode(dentry);
    int status = setattr_prepare(idmap, dentry, change);
    struct tbfs *fs;

    if (status == 0 && change->ia_valid & ATTR_SIZE && change->ia_size != i_size_read(inode))
        status = resize(inode, change->ia_size);
    if (status < 0)
        return status;
    fs = core_lock(inode);
    setattr_copy(idmap, inode, change);
    status = write_attributes(fs, inode);
    core_unlock(inode);
    return status;
}

int inode_update(struct inode *inode, int flags) {
    struct tbfs *fs = core_lock(inode);
    int status;

    inode_update_timestamps(inode, flags);
    status = write_attributes(fs, inode);
    core_unlock(inode);
    return status;
}

static int statistics(struct dentry *dentry, struct kstatfs *result) {
    struct inode *inode = d_inode(dentry);
    struct tbfs_statfs room;

    tbfs_statfs(core_lock(inode), &room);
    core_unlock(inode);
    result->f_type = (long)TBFS_MAGIC;
    result->f_bsize = TBFS_BLOCK_BYTES;
    result->f_blocks = room.blocks;
    result->f_bfree = result->f_bavail = room.blocks_free;
    result->f_files = room.inodes;
    result->f_ffree = room.inodes_free;
    result->f_namelen = TBFS_NAME_BYTES_MAX;
    return 0;
}

static void show_hybrid(struct seq_file *to, const struct tbfs_hybrid *hybrid) {
    seq_printf(to, ",log_block=%u,log_align=%u,hybrid_max=%u", hybrid->log_block_bytes, hybrid->log_align_bytes,
               hybrid->log_write_bytes);
    if (hybrid->gc_read_bytes == TBFS_GC_NEVER)
        seq_puts(to, ",gc_read=off");
    else
        seq_printf(to, ",gc_read=%llu", hybrid->gc_read_bytes);
    seq_printf(to, ",read=%s,multi=%s", hybrid->read == TBFS_READ_FORWARD ? "forward" : "reverse",
               hybrid->multi == TBFS_MULTI_PAGE ? "page" : "call");
    if (hybrid->gc_low_percent)
        seq_printf(to, ",gc_low=%u,gc_high=%u,gc_idle_us=%u", hybrid->gc_low_percent, hybrid->gc_high_percent,
                   hybrid->gc_idle_us);
}

static int show_options(struct seq_file *to, struct dentry *root) {
    static const char *const names[] = {
        [TBFS_DATA_INPLACE] = "inplace", [TBFS_DATA_COW] = "cow", [TBFS_DATA_HYBRID] = "hybrid"};
    const struct volume *volume = volume_of(d_inode(root));
    const struct tbfs_options *options = &volume->fs.options;

    seq_printf(to, ",data=%s,metadata=%s", names[options->data],
               options->metadata == TBFS_METADATA_LOG ? "log" : "undo");
    if (options->atomic_bytes)
        seq_printf(to, ",atomic=%u", options->atomic_bytes);
    else
        seq_puts(to, ",atomic=off");
    if (volume->rules.barrier)
        seq_puts(to, ",barrier=on");
    if (volume->rules.wprotect)
        seq_puts(to, ",wprotect=on");
    if (options->data == TBFS_DATA_HYBRID)
        show_hybrid(to, &options->hybrid);
    return 0;
}

/* syncfs() passes over an inode without dirty pages, even if an fsync() beside it has only just cleared their marks. */
static int synchronise_all(struct super_block *sb, int wait) {
    if (wait)
        wait_for_writing_back(sb->s_fs_info);
    return 0;
}

const struct super_operations tbfs_super_operations = {
    .evict_inode = evict,
    .free_inode = free_inode,
    .sync_fs = synchronise_all,
    .statfs = statistics,
    .show_options = show_options,
};
