/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* The calls that make, move and remove names. */
#include "../medium/bytes.h"
#include "../medium/space.h"
#include "../pages/data.h"
#include "../pages/tree.h"
#include "directory.h"
#include "inode.h"
#include "merge.h"

static void touch(struct tbfs *fs, uint64_t ino, uint32_t now) {
    struct tbfs_inode *inode = tx_inode(fs, ino);
    inode->mtime = inode->ctime = now;
}

static int end(struct tbfs *fs, int status) { return status < 0 ? tx_forget(fs, status) : tx_commit(fs); }

/* The result of a lookup: the directory, the entry and its inode; null if the name does not exist. */
struct found {
    const struct tbfs_inode *dir, *inode;
    struct tbfs_dirent *entry;
    uint64_t ino;
};

static int find(const struct tbfs *fs, uint64_t dir, struct tbfs_name name, struct found *found) {
    *found = (struct found){0};
    int status = directory_check_name(name);
    if (status == 0)
        status = inode_find_directory(fs, dir, &found->dir);
    if (status == 0)
        status = directory_find(fs, found->dir, name, &found->entry);
    if (status == -ENOENT && found->dir && found->dir->links)
        return 0;
    if (status < 0)
        return status;
    found->ino = found->entry->inode;
    return inode_find(fs, found->ino, &found->inode) < 0 ? -EUCLEAN : 0;
}

static int find_present(const struct tbfs *fs, uint64_t dir, struct tbfs_name name, struct found *found) {
    int status = find(fs, dir, name, found);
    return status < 0 ? status : found->inode ? 0 : -ENOENT;
}

static int find_absent(const struct tbfs *fs, uint64_t dir, struct tbfs_name name) {
    struct found found;
    int status = find(fs, dir, name, &found);
    return status < 0 ? status : found.inode ? -EEXIST : 0;
}

int tbfs_lookup(struct tbfs *fs, uint64_t dir, struct tbfs_name name, uint64_t *ino) {
    struct found found;
    int status = find_present(fs, dir, name, &found);
    if (status == 0)
        *ino = found.ino;
    return status;
}

/* In the transaction. */
static int write_target(struct tbfs *fs, uint64_t ino, struct tbfs_name target) {
    struct tbfs_inode *inode = tx_inode(fs, ino);
    uint64_t block;
    int status = data_new_block(fs, inode, 0, 0, target.bytes, &block);
    if (status == 0)
        bytes_copy(space_at(fs, block), target.text, target.bytes);
    inode->size = target.bytes;
    return status;
}

static int check_new(const struct tbfs *fs, uint64_t dir, struct tbfs_name name, const struct tbfs_new *what) {
    int status = find_absent(fs, dir, name);
    if (status < 0)
        return status;
    if (S_ISDIR(what->mode) && space_inode(fs, dir)->links >= TBFS_LINKS_MAX)
        return -EMLINK;
    if (S_ISLNK(what->mode) && (what->target.bytes == 0 || what->target.bytes >= TBFS_BLOCK_BYTES))
        return what->target.bytes ? -ENAMETOOLONG : -ENOENT;
    return what->mode & S_IFMT ? 0 : -EINVAL;
}

static int create(struct tbfs *fs, uint64_t dir, struct tbfs_name name, const struct tbfs_new *what,
                  const struct tbfs_caller *caller, uint64_t *ino) {
    int status = tx_begin(fs);
    if (status == 0)
        status = check_new(fs, dir, name, what);
    if (status == 0)
        status = inode_new(fs, what, caller, ino);
    if (status == 0 && S_ISLNK(what->mode))
        status = write_target(fs, *ino, what->target);
    if (status == 0)
        status = directory_insert(fs, dir, name, *ino);
    if (status == 0) {
        touch(fs, dir, caller->now);
        if (S_ISDIR(what->mode)) {
            tx_inode(fs, *ino)->parent = dir;
            tx_inode(fs, dir)->links++;
        }
    }
    return end(fs, status);
}

int tbfs_create(struct tbfs *fs, uint64_t dir, struct tbfs_name name, const struct tbfs_new *what,
                const struct tbfs_caller *caller, uint64_t *ino) {
    int status;
    do
        status = create(fs, dir, name, what, caller, ino);
    while (merge_for_room(fs, status));
    return status;
}

static int add_name(struct tbfs *fs, uint64_t ino, uint64_t dir, struct tbfs_name name, uint32_t now) {
    const struct tbfs_inode *inode;
    int status = tx_begin(fs);
    if (status == 0)
        status = inode_find(fs, ino, &inode);
    if (status == 0)
        status = find_absent(fs, dir, name);
    if (status == 0 && S_ISDIR(inode->mode))
        status = -EPERM;
    if (status == 0 && (inode->links == 0 || inode->links >= TBFS_LINKS_MAX))
        status = inode->links ? -EMLINK : -ENOENT;
    if (status == 0)
        status = directory_insert(fs, dir, name, ino);
    if (status == 0) {
        touch(fs, dir, now);
        tx_inode(fs, ino)->links++;
        tx_inode(fs, ino)->ctime = now;
    }
    return end(fs, status);
}

int tbfs_link(struct tbfs *fs, uint64_t ino, uint64_t dir, struct tbfs_name name, uint32_t now) {
    int status;
    do
        status = add_name(fs, ino, dir, name, now);
    while (merge_for_room(fs, status));
    return status;
}

/* In the transaction. */
static void remove_name(struct tbfs *fs, uint64_t dir, const struct found *found, uint32_t now, uint64_t *orphan) {
    directory_remove(fs, found->entry);
    inode_drop_name(fs, found->ino, now, orphan);
    touch(fs, dir, now);
}

int tbfs_unlink(struct tbfs *fs, uint64_t dir, struct tbfs_name name, uint32_t now, uint64_t *orphan) {
    struct found found;
    *orphan = 0;
    int status = tx_begin(fs);
    if (status == 0)
        status = find_present(fs, dir, name, &found);
    if (status < 0)
        return status;
    if (S_ISDIR(found.inode->mode))
        return -EISDIR;
    remove_name(fs, dir, &found, now, orphan);
    return end(fs, 0);
}

/* 0, or the error that forbids the removal of this directory. */
static int check_removable(const struct tbfs *fs, const struct tbfs_inode *dir) {
    int status = S_ISDIR(dir->mode) ? directory_is_empty(fs, dir) : -ENOTDIR;
    return status < 0 ? status : status ? 0 : -ENOTEMPTY;
}

int tbfs_rmdir(struct tbfs *fs, uint64_t dir, struct tbfs_name name, uint32_t now, uint64_t *orphan) {
    struct found found;
    *orphan = 0;
    int status = tx_begin(fs);
    if (status == 0)
        status = find_present(fs, dir, name, &found);
    if (status == 0)
        status = check_removable(fs, found.inode);
    if (status < 0)
        return status;
    remove_name(fs, dir, &found, now, orphan);
    tx_inode(fs, dir)->links--;
    return end(fs, 0);
}

/* 1: `dir` is `above` or is below it; 0: it is not; -EUCLEAN: its parents do not lead to the root. */
static int is_below(const struct tbfs *fs, uint64_t dir, uint64_t above) {
    for (uint64_t steps = 0; steps < fs->super->inode_count; steps++) {
        const struct tbfs_inode *inode;
        if (dir == above)
            return 1;
        if (dir == TBFS_ROOT_INODE)
            return 0;
        if (inode_find_directory(fs, dir, &inode) < 0)
            return -EUCLEAN;
        dir = inode->parent;
    }
    return -EUCLEAN;
}

/* 0, or the error that forbids a name for the found inode in `dir`. */
static int check_move(const struct tbfs *fs, const struct found *what, uint64_t from, uint64_t dir) {
    if (!S_ISDIR(what->inode->mode) || from == dir)
        return 0;
    int status = is_below(fs, dir, what->ino);
    if (status)
        return status < 0 ? status : -EINVAL;
    return space_inode(fs, dir)->links >= TBFS_LINKS_MAX ? -EMLINK : 0;
}

static int check_replace(const struct tbfs *fs, const struct found *what, const struct found *replaced) {
    if (!replaced->inode)
        return 0;
    if (S_ISDIR(what->inode->mode))
        return check_removable(fs, replaced->inode);
    return S_ISDIR(replaced->inode->mode) ? -EISDIR : 0;
}

static int check_rename(const struct tbfs *fs, const struct found *what, const struct found *other,
                        struct tbfs_place from, struct tbfs_place to, unsigned flags) {
    if (flags & ~(unsigned)(TBFS_RENAME_NOREPLACE | TBFS_RENAME_EXCHANGE) ||
        flags == (TBFS_RENAME_NOREPLACE | TBFS_RENAME_EXCHANGE))
        return -EINVAL;
    if (flags & TBFS_RENAME_NOREPLACE && other->inode)
        return -EEXIST;
    int status = check_move(fs, what, from.dir, to.dir);
    if (status < 0 || !(flags & TBFS_RENAME_EXCHANGE))
        return status < 0 ? status : check_replace(fs, what, other);
    return other->inode ? check_move(fs, other, to.dir, from.dir) : -ENOENT;
}

/* In the transaction: updates an inode after its name has changed, perhaps to another directory. */
static void move(struct tbfs *fs, uint64_t ino, uint64_t from, uint64_t to, uint32_t now) {
    struct tbfs_inode *inode = tx_inode(fs, ino);
    inode->ctime = now;
    if (!S_ISDIR(inode->mode) || from == to)
        return;
    inode->parent = to;
    tx_inode(fs, from)->links--;
    tx_inode(fs, to)->links++;
}

static int replace(struct tbfs *fs, const struct found *what, const struct found *other, struct tbfs_place to,
                   uint32_t now, uint64_t *orphan) {
    if (!other->inode)
        return directory_insert(fs, to.dir, to.name, what->ino);
    directory_replace(fs, other->entry, what->ino);
    inode_drop_name(fs, other->ino, now, orphan);
    if (S_ISDIR(other->inode->mode))
        tx_inode(fs, to.dir)->links--;
    return 0;
}

static int rename_once(struct tbfs *fs, struct tbfs_place from, struct tbfs_place to, unsigned flags, uint32_t now,
                       uint64_t *orphan) {
    struct found what, other;
    *orphan = 0;
    int status = tx_begin(fs);
    if (status == 0)
        status = find_present(fs, from.dir, from.name, &what);
    if (status == 0)
        status = find(fs, to.dir, to.name, &other);
    if (status == 0)
        status = check_rename(fs, &what, &other, from, to, flags);
    if (status < 0 || what.ino == other.ino)
        return status;
    if (flags & TBFS_RENAME_EXCHANGE) {
        directory_replace(fs, other.entry, what.ino);
        directory_replace(fs, what.entry, other.ino);
        move(fs, other.ino, to.dir, from.dir, now);
    } else {
        status = replace(fs, &what, &other, to, now, orphan);
        directory_remove(fs, what.entry);
    }
    move(fs, what.ino, from.dir, to.dir, now);
    touch(fs, from.dir, now);
    touch(fs, to.dir, now);
    return end(fs, status);
}

int tbfs_rename(struct tbfs *fs, struct tbfs_place from, struct tbfs_place to, unsigned flags, uint32_t now,
                uint64_t *orphan) {
    int status;
    do
        status = rename_once(fs, from, to, flags, now, orphan);
    while (merge_for_room(fs, status));
    return status;
}
