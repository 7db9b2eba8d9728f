/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* The checker. The mount has already checked every block pointer. */
#include "../files/directory.h"
#include "../files/inode.h"
#include "../medium/space.h"
#include "../pages/tree.h"

struct check {
    struct tbfs *fs;
    uint32_t *names; /* for each inode: the number of entries that name it */
    uint32_t *below; /* for each directory: the number of directories in it */
    struct tbfs_map reached;
    tbfs_tell *tell;
    void *context;
    uint64_t faults;
};

uint64_t tbfs_check_memory_bytes(const struct tbfs *fs) {
    uint64_t inodes = fs->super->inode_count;
    return map_words(inodes) * sizeof(uint64_t) + 2 * inodes * sizeof(uint32_t);
}

static void fault(struct check *check, const char *what, uint64_t ino, uint64_t number) {
    struct tbfs_fault found = {what, ino, number};
    check->faults++;
    check->tell(check->context, &found);
}

static void count_entry(struct check *check, uint64_t dir, const struct tbfs_dirent *entry) {
    const struct tbfs_inode *inode;
    if (inode_find(check->fs, entry->inode, &inode) < 0)
        return fault(check, "an entry names an inode that is free", dir, entry->inode);
    check->names[entry->inode]++;
    if (entry->type != inode->mode >> 12)
        fault(check, "an entry has another kind than its inode", dir, entry->inode);
    if (!S_ISDIR(inode->mode))
        return;
    check->below[dir]++;
    if (inode->parent != dir)
        fault(check, "a directory names another one as that which it is in", entry->inode, inode->parent);
}

static void scan_directory(struct check *check, uint64_t ino, const struct tbfs_inode *dir) {
    struct tbfs_dirent *entry;
    uint64_t position = 0;
    int status;
    while ((status = directory_next(check->fs, dir, &position, &entry)) > 0) {
        struct tbfs_dirent *first;
        if (!entry->inode)
            continue;
        count_entry(check, ino, entry);
        struct tbfs_name name = {entry->name, entry->name_bytes};
        if (directory_check_name(name) < 0)
            fault(check, "an entry has a name that cannot be", ino, entry->inode);
        if (directory_find(check->fs, dir, name, &first) == 0 && first != entry)
            fault(check, "a name stands twice in a directory", ino, entry->inode);
    }
    if (status < 0)
        fault(check, "a directory has no sound entry here", ino, position);
}

static void check_links(struct check *check, uint64_t ino, const struct tbfs_inode *inode) {
    uint64_t names = check->names[ino], wanted = S_ISDIR(inode->mode) ? 2 + check->below[ino] : names;
    if (names == 0 && ino != TBFS_ROOT_INODE)
        return fault(check, "an inode has no name", ino, inode->links);
    if (S_ISDIR(inode->mode) && names > (ino != TBFS_ROOT_INODE))
        fault(check, "a directory has several names", ino, names);
    if (inode->links != wanted)
        fault(check, "an inode has another number of links than names", ino, inode->links);
}

static void check_blocks(struct check *check, uint64_t ino, const struct tbfs_inode *inode) {
    uint64_t blocks = tree_count(check->fs, inode);
    if (blocks != inode->blocks)
        fault(check, "an inode has another number of blocks than its tree", ino, blocks);
    if (inode->size && S_ISLNK(inode->mode) && !tree_get(check->fs, inode, 0))
        fault(check, "a symbolic link has no target", ino, 0);
}

/* Walks from a directory up to one that is known to reach the root; then again, to mark the path. */
static void check_reaches_root(struct check *check, uint64_t ino) {
    uint64_t steps = 0, at = ino;
    const struct tbfs_inode *inode;
    while (!map_has(&check->reached, at)) {
        if (steps++ > check->reached.count || inode_find_directory(check->fs, at, &inode) < 0 || inode->parent == 0 ||
            inode->parent >= check->reached.count)
            return fault(check, "a directory cannot be reached from the root", ino, at);
        at = inode->parent;
    }
    for (at = ino; map_mark(&check->reached, at);)
        at = space_inode(check->fs, at)->parent;
}

static void check_root(struct check *check) {
    const struct tbfs_inode *root = space_inode(check->fs, TBFS_ROOT_INODE);
    if (root->parent != TBFS_ROOT_INODE)
        fault(check, "the root names another directory as that which it is in", TBFS_ROOT_INODE, root->parent);
}

static void check_inode(struct check *check, uint64_t ino, const struct tbfs_inode *inode) {
    check_links(check, ino, inode);
    check_blocks(check, ino, inode);
    if (S_ISDIR(inode->mode))
        check_reaches_root(check, ino);
}

uint64_t tbfs_check(struct tbfs *fs, void *memory, tbfs_tell *tell, void *context) {
    uint64_t inodes = fs->super->inode_count;
    struct check check = {.fs = fs, .tell = tell, .context = context};
    check.names = (uint32_t *)((uint64_t *)memory + map_words(inodes));
    check.below = check.names + inodes;
    memset(check.names, 0, 2 * inodes * sizeof(uint32_t));
    map_init(&check.reached, memory, inodes);
    map_mark(&check.reached, TBFS_ROOT_INODE);
    check_root(&check);
    for (uint64_t ino = 1; ino < inodes; ino++)
        if (S_ISDIR(space_inode(fs, ino)->mode))
            scan_directory(&check, ino, space_inode(fs, ino));
    for (uint64_t ino = 1; ino < inodes; ino++)
        if (space_inode(fs, ino)->mode)
            check_inode(&check, ino, space_inode(fs, ino));
    return check.faults;
}
