/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "super.h"

#include "crc32c.h"
#include "journal.h"
#include "persist.h"
#include "space.h"

enum { FIRST = 0, COPY = TBFS_BLOCK_BYTES, JOURNAL = 2 * TBFS_BLOCK_BYTES };
enum { JOURNAL_PART = 64, JOURNAL_BYTES_MOST = 4 << 20, BYTES_PER_INODE = 16384 };

static uint32_t checksum_of(const struct tbfs_super *super) {
    struct tbfs_super copy = *super;
    copy.checksum = 0;
    return crc32c(&copy, TBFS_SUPER_STATIC_BYTES);
}

static uint64_t whole_blocks(uint64_t bytes) {
    return (bytes + TBFS_BLOCK_BYTES - 1) / TBFS_BLOCK_BYTES * TBFS_BLOCK_BYTES;
}

/* What the checksum does not say: one who damages a medium can make checksums too. */
static bool geometry_is_sound(const struct tbfs_super *super, uint64_t bytes) {
    uint64_t blocks = bytes / TBFS_BLOCK_BYTES;
    return super->bytes % TBFS_BLOCK_BYTES == 0 && super->bytes / TBFS_BLOCK_BYTES <= blocks &&
           super->journal_offset == JOURNAL && super->journal_bytes >= TBFS_JOURNAL_BYTES_MIN &&
           super->journal_bytes <= JOURNAL_BYTES_MOST && super->journal_bytes % TBFS_BLOCK_BYTES == 0 &&
           super->inode_offset == JOURNAL + super->journal_bytes && super->inode_count > TBFS_ROOT_INODE &&
           super->inode_count <= bytes / sizeof(struct tbfs_inode) &&
           super->data_offset == super->inode_offset + whole_blocks(super->inode_count * sizeof(struct tbfs_inode)) &&
           super->data_offset < super->bytes;
}

static int check(const struct tbfs_super *super, uint64_t bytes) {
    if (super->magic != TBFS_MAGIC)
        return -EINVAL;
    if (super->version != TBFS_VERSION)
        return -EPROTONOSUPPORT;
    return super->checksum == checksum_of(super) && geometry_is_sound(super, bytes) ? 0 : -EUCLEAN;
}

int super_find(struct tbfs_space space, struct tbfs_super **super) {
    if (space.bytes < JOURNAL)
        return -EINVAL;
    *super = (struct tbfs_super *)(space.base + FIRST);
    int status = check(*super, space.bytes);
    struct tbfs_super *copy = (struct tbfs_super *)(space.base + COPY);
    if (status == 0 || check(copy, space.bytes) < 0)
        return status;
    pm_copy(*super, copy, TBFS_SUPER_STATIC_BYTES);
    pm_flush(*super, TBFS_SUPER_STATIC_BYTES);
    pm_fence();
    return 0;
}

static int plan(struct tbfs_space space, const struct tbfs_layout *layout, struct tbfs_super *super) {
    uint64_t bytes = space.bytes / TBFS_BLOCK_BYTES * TBFS_BLOCK_BYTES, journal = layout->journal_bytes;
    if (journal == 0)
        journal = bytes / JOURNAL_PART < JOURNAL_BYTES_MOST ? bytes / JOURNAL_PART : JOURNAL_BYTES_MOST;
    journal = journal < TBFS_JOURNAL_BYTES_MIN ? TBFS_JOURNAL_BYTES_MIN : whole_blocks(journal);
    *super = (struct tbfs_super){
        .magic = TBFS_MAGIC,
        .version = TBFS_VERSION,
        .bytes = bytes,
        .journal_offset = JOURNAL,
        .journal_bytes = journal,
        .inode_offset = JOURNAL + journal,
        .inode_count = layout->inode_count ? layout->inode_count : bytes / BYTES_PER_INODE + 1,
    };
    if (super->inode_count > bytes / sizeof(struct tbfs_inode))
        return -ENOSPC;
    super->data_offset = super->inode_offset + whole_blocks(super->inode_count * sizeof(struct tbfs_inode));
    for (size_t i = 0; layout->label && i < sizeof(super->label) && layout->label[i]; i++)
        super->label[i] = layout->label[i];
    super->checksum = checksum_of(super);
    return geometry_is_sound(super, bytes) ? 0 : -ENOSPC;
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

/* The superblock comes last: until then there is no file system. */
int tbfs_make(struct tbfs_space space, const struct tbfs_layout *layout, uint32_t now) {
    struct tbfs_super super;
    int status = plan(space, layout, &super);
    if (status < 0)
        return status;
    struct tbfs fs = {.space = space, .super = &super};
    pm_zero_nt(space.base, JOURNAL);
    pm_fence();
    journal_make(&fs);
    pm_zero_nt(space_at(&fs, super.inode_offset), super.data_offset - super.inode_offset);
    pm_fence();
    make_root(&fs, now);
    pm_copy(space.base + COPY, &super, sizeof(super));
    pm_flush(space.base + COPY, sizeof(super));
    pm_fence();
    pm_copy(space.base + FIRST, &super, sizeof(super));
    pm_flush(space.base + FIRST, sizeof(super));
    pm_fence();
    return 0;
}
