// SPDX-License-Identifier: GPL-2.0-or-later
/* Names: the calls of a directory. The kernel holds the directory's lock, so no other call changes its entries. */
#include <linux/cred.h>
#include <linux/slab.h>

#include "glue.h"

static struct tbfs_name name_of(const struct dentry *dentry) {
    return (struct tbfs_name){dentry->d_name.name, dentry->d_name.len};
}

static struct dentry *lookup(struct inode *dir, struct dentry *dentry, unsigned flags) {
    struct inode *inode = NULL;
    u64 ino;
    int status = tbfs_lookup(core_lock(dir), dir->i_ino, name_of(dentry), &ino);

    core_unlock(dir);
    if (status < 0 && status != -ENOENT)
        return ERR_PTR(status);
    if (status == 0)
        inode = inode_open(dir->i_sb, ino);
    return d_splice_alias(inode, dentry);
}

/* Owner and group by the kernel's usual rule: a directory with S_ISGID passes on its group. */
static struct tbfs_caller caller_in(const struct inode *dir, struct tbfs_new *what) {
    struct tbfs_caller caller = {
        .uid = from_kuid(&init_user_ns, current_fsuid()),
        .gid = from_kgid(&init_user_ns, dir->i_mode & S_ISGID ? dir->i_gid : current_fsgid()),
        .now = now(),
    };

    if (dir->i_mode & S_ISGID && S_ISDIR(what->mode))
        what->mode |= S_ISGID;
    return caller;
}

static int make_inode(struct inode *dir, struct dentry *dentry, struct tbfs_new *what, struct inode *inode) {
    struct tbfs_caller caller = caller_in(dir, what);
    struct tbfs *fs = core_lock(dir);
    u64 ino;
    int status = tbfs_create(fs, dir->i_ino, name_of(dentry), what, &caller, &ino);

    if (status == 0) {
        inode->i_ino = ino;
        inode_refresh(fs, inode);
        inode_refresh(fs, dir);
    }
    core_unlock(dir);
    return status;
}

/* All allocations of memory precede the creation of the name, so a lack of memory leaves no name behind. */
static int make(struct inode *dir, struct dentry *dentry, struct tbfs_new what) {
    struct inode *inode = new_inode(dir->i_sb);
    int status = 0;

    if (!inode)
        return -ENOMEM;
    inode->i_ino = 0;
    inode->i_mode = what.mode;
    if (S_ISLNK(what.mode)) {
        inode->i_link = kstrdup(what.target.text, GFP_KERNEL);
        status = inode->i_link ? 0 : -ENOMEM;
    }
    if (status == 0)
        status = make_inode(dir, dentry, &what, inode);
    if (status < 0) {
        iput(inode);
        return status;
    }
    inode_set_operations(inode);
    insert_inode_hash(inode);
    d_instantiate(dentry, inode);
    return 0;
}

static int create(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry, umode_t mode, bool exclusive) {
    return make(dir, dentry, (struct tbfs_new){.mode = mode | S_IFREG});
}

static int make_directory(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry, umode_t mode) {
    return make(dir, dentry, (struct tbfs_new){.mode = mode | S_IFDIR});
}

static int make_special(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry, umode_t mode, dev_t dev) {
    return make(dir, dentry, (struct tbfs_new){.mode = mode, .rdev = new_encode_dev(dev)});
}

static int make_symlink(struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry, const char *target) {
    return make(dir, dentry, (struct tbfs_new){.mode = S_IFLNK | 0777, .target = {target, strlen(target)}});
}

static int make_link(struct dentry *from, struct inode *dir, struct dentry *dentry) {
    struct inode *inode = d_inode(from);
    struct tbfs *fs = core_lock(dir);
    int status = tbfs_link(fs, inode->i_ino, dir->i_ino, name_of(dentry), now());

    inode_refresh(fs, inode);
    inode_refresh(fs, dir);
    core_unlock(dir);
    if (status < 0)
        return status;
    ihold(inode);
    d_instantiate(dentry, inode);
    return 0;
}

/* An inode that has lost its last name is an orphan, which evict() passes to the core. */
typedef int removal(struct tbfs *fs, uint64_t dir, struct tbfs_name name, uint32_t when, uint64_t *orphan);

static int drop(struct inode *dir, struct dentry *dentry, removal *remove) {
    struct tbfs *fs = core_lock(dir);
    u64 orphan;
    int status = remove(fs, dir->i_ino, name_of(dentry), now(), &orphan);

    inode_refresh(fs, d_inode(dentry));
    inode_refresh(fs, dir);
    core_unlock(dir);
    return status;
}

static int drop_file(struct inode *dir, struct dentry *dentry) { return drop(dir, dentry, tbfs_unlink); }

static int drop_directory(struct inode *dir, struct dentry *dentry) { return drop(dir, dentry, tbfs_rmdir); }

static int move(struct mnt_idmap *idmap, struct inode *from_dir, struct dentry *from, struct inode *to_dir,
                struct dentry *to, unsigned flags) {
    struct inode *const changed[] = {from_dir, to_dir, d_inode(from), d_inode(to)};
    struct tbfs_place old = {from_dir->i_ino, name_of(from)}, new = {to_dir->i_ino, name_of(to)};
    struct tbfs *fs;
    u64 orphan;
    int status;

    BUILD_BUG_ON(RENAME_NOREPLACE != TBFS_RENAME_NOREPLACE || RENAME_EXCHANGE != TBFS_RENAME_EXCHANGE);
    fs = core_lock(from_dir);
    status = tbfs_rename(fs, old, new, flags, now(), &orphan);
    for (size_t i = 0; i < ARRAY_SIZE(changed); i++)
        if (changed[i])
            inode_refresh(fs, changed[i]);
    core_unlock(from_dir);
    return status;
}

/* Positions 0 and 1 are "." and "..", which the core does not store. */
enum { DOTS = 2 };

static int next(struct inode *dir, u64 *position, struct tbfs_listed *entry) {
    int status = tbfs_readdir(core_lock(dir), dir->i_ino, position, entry);

    core_unlock(dir);
    return status;
}

/* A listed name points to the medium, and stays valid while the kernel holds the directory's lock. */
static int list(struct file *file, struct dir_context *to) {
    struct inode *dir = file_inode(file);
    struct tbfs_listed entry;
    u64 position;
    int status;

    if (!dir_emit_dots(file, to))
        return 0;
    position = to->pos - DOTS;
    status = tbfs_readdir_seek(core_lock(dir), dir->i_ino, &position);
    core_unlock(dir);
    if (status < 0)
        return status;
    while ((status = next(dir, &position, &entry)) > 0) {
        if (!dir_emit(to, entry.name.text, entry.name.bytes, entry.ino, entry.type))
            return 0;
        to->pos = position + DOTS;
    }
    return status;
}

const struct inode_operations tbfs_directory_inode_operations = {
    .lookup = lookup,
    .create = create,
    .mkdir = make_directory,
    .mknod = make_special,
    .symlink = make_symlink,
    .link = make_link,
    .unlink = drop_file,
    .rmdir = drop_directory,
    .rename = move,
    .setattr = inode_setattr,
    .update_time = inode_update,
};

const struct file_operations tbfs_directory_operations = {
    .llseek = generic_file_llseek,
    .read = generic_read_dir,
    .iterate_shared = list,
    .fsync = noop_fsync,
};
