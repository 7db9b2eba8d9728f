/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* Makes a file system. A kernel module does not contain this code: a tool makes the file system. */
#include "../medium/journal.h"
#include "../medium/space.h"
#include "../medium/super.h"
#include "../persist.h"

enum { JOURNAL_PART = 64, BYTES_PER_INODE = 16384 };

static int plan(struct tbfs_space space, const struct tbfs_layout *layout, struct tbfs_super *super) {
    uint64_t bytes = space.bytes / TBFS_BLOCK_BYTES * TBFS_BLOCK_BYTES, journal = layout->journal_bytes;
    if (journal == 0)
        journal = bytes / JOURNAL_PART < SUPER_JOURNAL_BYTES_MOST ? bytes / JOURNAL_PART : SUPER_JOURNAL_BYTES_MOST;
    journal = journal < TBFS_JOURNAL_BYTES_MIN ? TBFS_JOURNAL_BYTES_MIN : super_whole_blocks(journal);
    *super = (struct tbfs_super){
        .magic = TBFS_MAGIC,
        .version = TBFS_VERSION,
        .bytes = bytes,
        .journal_offset = SUPER_JOURNAL,
        .journal_bytes = journal,
        .inode_offset = SUPER_JOURNAL + journal,
        .inode_count = layout->inode_count ? layout->inode_count : bytes / BYTES_PER_INODE + 1,
    };
    if (super->inode_count > bytes / sizeof(struct tbfs_inode))
        return -ENOSPC;
    super->data_offset = super->inode_offset + super_whole_blocks(super->inode_count * sizeof(struct tbfs_inode));
    for (size_t i = 0; layout->label && i < sizeof(super->label) && layout->label[i]; i++)
        super->label[i] = layout->label[i];
    super->checksum = super_checksum(super);
    return super_is_sound(super, bytes) ? 0 : -ENOSPC;
}

static void make_root(const struct tbfs *fs, uint32_t now) {
    struct tbfs_inode root = {.mode = S_IFDIR | 0755,
                              .links = 2,
                              .parent = TBFS_ROOT_INODE,
                              .ctime = now,
                              .mtime = now,
                              .atime = now,
                              .generation = 1};
    pm_copy(space_inode(fs, TBFS_ROOT_INODE), &root, sizeof(root));
    pm_flush(space_inode(fs, TBFS_ROOT_INODE), sizeof(root));
}

/* The superblocks come last: until then there is no file system. A mount also accepts the copy alone, so the root must
 * be durable before the copy. */
int tbfs_make(struct tbfs_space space, const struct tbfs_layout *layout, uint32_t now) {
    struct tbfs_super super;
    int status = plan(space, layout, &super);
    if (status < 0)
        return status;
    struct tbfs fs = {.space = space, .super = &super};
    pm_zero_nt(space.base, SUPER_JOURNAL);
    pm_fence();
    journal_make(&fs);
    pm_zero_nt(space_at(&fs, super.inode_offset), super.data_offset - super.inode_offset);
    make_root(&fs, now);
    pm_fence();
    pm_copy(space.base + SUPER_COPY, &super, sizeof(super));
    pm_flush(space.base + SUPER_COPY, sizeof(super));
    pm_fence();
    pm_copy(space.base + SUPER_FIRST, &super, sizeof(super));
    pm_flush(space.base + SUPER_FIRST, sizeof(super));
    pm_fence();
    return 0;
}
