/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Added to a copy of glue.h: each call of the core warns if its caller does not hold the volume's lock, and a merge
 * warns if somebody changes `read_only` meanwhile.
 */
#include <linux/delay.h>

static inline struct tbfs *tbfs_checked(struct tbfs *fs) {
    struct volume *volume = container_of(fs, struct volume, fs);
    unsigned long owner = (unsigned long)atomic_long_read(&volume->lock.owner) & ~7ul; /* without the mutex's flags */

    WARN_ONCE(owner != (unsigned long)current, "tbfs: a call of the core without the lock");
    return fs;
}

static inline void tbfs_invalidate_unlock(struct address_space *mapping) {
    filemap_invalidate_unlock(mapping);
    udelay(300); /* a fault that has waited comes first */
}

static inline bool tbfs_merge_some_checked(struct tbfs *fs) {
    bool read_only = fs->read_only, has_more = tbfs_merge_some(tbfs_checked(fs));

    udelay(200); /* another call comes meanwhile */
    WARN_ONCE(fs->read_only != read_only, "tbfs: a call of the core is under way while read_only changes");
    return has_more;
}

#define filemap_invalidate_unlock(mapping) tbfs_invalidate_unlock(mapping)
#define tbfs_create(fs, ...) tbfs_create(tbfs_checked(fs), __VA_ARGS__)
#define tbfs_evict(fs, ...) tbfs_evict(tbfs_checked(fs), __VA_ARGS__)
#define tbfs_fallocate(fs, ...) tbfs_fallocate(tbfs_checked(fs), __VA_ARGS__)
#define tbfs_find_extent(fs, ...) tbfs_find_extent(tbfs_checked(fs), __VA_ARGS__)
#define tbfs_inode_get(fs, ...) tbfs_inode_get(tbfs_checked(fs), __VA_ARGS__)
#define tbfs_inode_set(fs, ...) tbfs_inode_set(tbfs_checked(fs), __VA_ARGS__)
#define tbfs_link(fs, ...) tbfs_link(tbfs_checked(fs), __VA_ARGS__)
#define tbfs_lookup(fs, ...) tbfs_lookup(tbfs_checked(fs), __VA_ARGS__)
#define tbfs_merge(fs, ...) tbfs_merge(tbfs_checked(fs), __VA_ARGS__)
#define tbfs_merge_some(fs) tbfs_merge_some_checked(fs)
#define tbfs_read(fs, ...) tbfs_read(tbfs_checked(fs), __VA_ARGS__)
#define tbfs_read_to(fs, ...) tbfs_read_to(tbfs_checked(fs), __VA_ARGS__)
#define tbfs_readdir(fs, ...) tbfs_readdir(tbfs_checked(fs), __VA_ARGS__)
#define tbfs_readdir_seek(fs, ...) tbfs_readdir_seek(tbfs_checked(fs), __VA_ARGS__)
#define tbfs_rename(fs, ...) tbfs_rename(tbfs_checked(fs), __VA_ARGS__)
#define tbfs_statfs(fs, ...) tbfs_statfs(tbfs_checked(fs), __VA_ARGS__)
#define tbfs_truncate(fs, ...) tbfs_truncate(tbfs_checked(fs), __VA_ARGS__)
#define tbfs_write_from(fs, ...) tbfs_write_from(tbfs_checked(fs), __VA_ARGS__)
