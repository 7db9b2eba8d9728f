/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* The entries of directories. Entries that are found lie on the medium and are read-only; changes go through the
 * transaction. */
#ifndef TBFS_DIRECTORY_H
#define TBFS_DIRECTORY_H

#include "../tbfs.h"

/* -EINVAL, -ENAMETOOLONG: no entry can have this name. */
int directory_check_name(struct tbfs_name name);

/* Returns the entry at a position, free ones included, and moves the position behind it. 1: found; 0: no more entries;
 * -EUCLEAN: the entry is invalid. */
int directory_next(const struct tbfs *fs, const struct tbfs_inode *dir, uint64_t *position, struct tbfs_dirent **entry);

/* -ENOENT: no entry has this name. */
int directory_find(const struct tbfs *fs, const struct tbfs_inode *dir, struct tbfs_name name,
                   struct tbfs_dirent **entry);

/* 1: empty; 0: not empty; -EUCLEAN: an entry is invalid. */
int directory_is_empty(const struct tbfs *fs, const struct tbfs_inode *dir);

int directory_insert(struct tbfs *fs, uint64_t dir, struct tbfs_name name, uint64_t ino);
void directory_remove(struct tbfs *fs, struct tbfs_dirent *entry);
void directory_replace(struct tbfs *fs, struct tbfs_dirent *entry, uint64_t ino);

#endif
