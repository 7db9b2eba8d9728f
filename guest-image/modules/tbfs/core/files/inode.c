/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "inode.h"

#include "../medium/journal.h"
#include "../medium/space.h"
#include "../pages/data.h"
#include "../pages/tree.h"
#include "../persist.h"

int inode_find(const struct tbfs *fs, uint64_t ino, const struct tbfs_inode **inode) {
    if (ino == 0 || ino >= fs->super->inode_count)
        return -EUCLEAN;
    *inode = space_inode(fs, ino);
    return (*inode)->mode ? 0 : -ENOENT;
}

int inode_find_directory(const struct tbfs *fs, uint64_t ino, const struct tbfs_inode **inode) {
    int status = inode_find(fs, ino, inode);
    return status < 0 ? status : S_ISDIR((*inode)->mode) ? 0 : -ENOTDIR;
}

int tbfs_inode_get(struct tbfs *fs, uint64_t ino, struct tbfs_inode *inode) {
    const struct tbfs_inode *found;
    int status = inode_find(fs, ino, &found);
    if (status == 0)
        *inode = *found;
    return status;
}

int inode_new(struct tbfs *fs, const struct tbfs_new *what, const struct tbfs_caller *caller, uint64_t *ino) {
    *ino = tx_take_inode(fs);
    if (!*ino)
        return -ENOSPC;
    struct tbfs_inode *inode = tx_inode(fs, *ino);
    *inode = (struct tbfs_inode){
        .mode = what->mode,
        .rdev = what->rdev,
        .links = S_ISDIR(what->mode) ? 2 : 1,
        .uid = caller->uid,
        .gid = caller->gid,
        .generation = inode->generation + 1,
        .ctime = caller->now,
        .mtime = caller->now,
        .atime = caller->now,
    };
    return 0;
}

int tbfs_inode_set(struct tbfs *fs, uint64_t ino, const struct tbfs_change *change, uint32_t now) {
    const struct tbfs_inode *found;
    int status = tx_begin(fs);
    if (status == 0)
        status = inode_find(fs, ino, &found);
    if (status < 0)
        return status;
    struct tbfs_inode *inode = tx_inode(fs, ino);
    if (change->which & TBFS_SET_MODE)
        inode->mode = (uint16_t)((inode->mode & S_IFMT) | (change->mode & ~S_IFMT));
    if (change->which & TBFS_SET_OWNER)
        inode->uid = change->uid, inode->gid = change->gid;
    if (change->which & TBFS_SET_MTIME)
        inode->mtime = change->mtime;
    if (change->which & TBFS_SET_ATIME)
        inode->atime = change->atime;
    if (change->which != TBFS_SET_ATIME)
        inode->ctime = now;
    return tx_commit(fs);
}

void inode_list(struct tbfs *fs, uint64_t ino, uint64_t size) {
    struct tbfs_inode *inode = tx_inode(fs, ino);
    inode->truncate_size = size;
    if (space_inode(fs, ino)->links == 0)
        return; /* already on the list: from the loss of its last name to its last close */
    inode->truncate_next = fs->super->truncate_head;
    tx_write8(fs, &fs->super->truncate_head, ino);
}

/* In the transaction: the predecessor in the list points to the successor. */
static void unlist(struct tbfs *fs, uint64_t ino) {
    uint64_t next = space_inode(fs, ino)->truncate_next, other = fs->super->truncate_head;
    if (other == ino)
        return tx_write8(fs, &fs->super->truncate_head, next);
    while (other && space_inode(fs, other)->truncate_next != ino)
        other = space_inode(fs, other)->truncate_next;
    if (other)
        tx_inode(fs, other)->truncate_next = next;
}

void inode_drop_name(struct tbfs *fs, uint64_t ino, uint32_t now, uint64_t *orphan) {
    struct tbfs_inode *inode = tx_inode(fs, ino);
    inode->links = (uint16_t)(S_ISDIR(inode->mode) ? 0 : inode->links - 1);
    inode->ctime = now;
    if (inode->links == 0) {
        inode_list(fs, ino, 0);
        *orphan = ino;
    }
}

/*
 * Once the inode is free, its blocks belong to no file, whatever its nodes still contain. If a line is an atomic unit,
 * the inode is freed first and taken off the list second, without the journal: a mount after a crash takes free inodes
 * off the list.
 */
int tbfs_evict(struct tbfs *fs, uint64_t ino, uint32_t now) {
    int status = tx_begin(fs);
    if (status < 0)
        return status;
    struct tbfs_inode old = *space_inode(fs, ino);
    struct tbfs_inode *inode = tx_inode(fs, ino);
    inode->mode = inode->height = 0;
    inode->root = inode->size = inode->blocks = 0;
    inode->dtime = now;
    if (fs->options.atomic_bytes == TBFS_LINE_BYTES)
        status = tx_commit(fs);
    unlist(fs, ino);
    if (status == 0)
        status = tx_commit(fs);
    if (status < 0)
        return tx_forget(fs, status);
    if (old.mode)
        tree_release(fs, &old);
    map_release(&fs->inodes, ino);
    return fs->broken ? -EUCLEAN : 0;
}

int inode_finish_truncate(struct tbfs *fs, uint64_t ino) {
    struct tbfs_inode *inode = space_inode(fs, ino);
    data_zero(fs, inode, inode->truncate_size, size_in_blocks(inode->truncate_size) * TBFS_BLOCK_BYTES);
    tree_cut(fs, inode, size_in_blocks(inode->truncate_size));
    if (fs->broken || !journal_yield(fs, space_offset(fs, &inode->blocks), sizeof(inode->blocks)))
        return -EUCLEAN;
    pm_store8(&inode->blocks, tree_count(fs, inode));
    pm_flush(&inode->blocks, sizeof(inode->blocks));
    pm_fence();
    if (inode->links)
        unlist(fs, ino);
    return tx_commit(fs);
}

/* Whether the list ends with 0, and contains no inode twice. */
static bool list_is_sound(const struct tbfs *fs) {
    uint64_t ino = fs->super->truncate_head, steps = 0;
    while (ino && ino < fs->super->inode_count && steps++ < fs->super->inode_count)
        ino = space_inode(fs, ino)->truncate_next;
    return ino == 0;
}

int inode_resume_truncates(struct tbfs *fs) {
    if (!list_is_sound(fs))
        return -EUCLEAN;
    int status = 0;
    for (uint64_t ino = fs->super->truncate_head; ino && status == 0; ino = fs->super->truncate_head) {
        const struct tbfs_inode *inode = space_inode(fs, ino);
        if (inode->mode && inode->links)
            status = inode_finish_truncate(fs, ino);
        else
            status = tbfs_evict(fs, ino, inode->ctime);
    }
    return status;
}
