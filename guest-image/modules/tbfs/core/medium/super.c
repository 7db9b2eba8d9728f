/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "super.h"

#include "../persist.h"
#include "crc32c.h"

uint32_t super_checksum(const struct tbfs_super *super) {
    struct tbfs_super copy = *super;
    copy.checksum = 0;
    return crc32c(&copy, TBFS_SUPER_STATIC_BYTES);
}

/* Checks offsets and sizes beyond the checksum: deliberate damage can include a matching checksum. */
bool super_is_sound(const struct tbfs_super *super, uint64_t bytes) {
    uint64_t blocks = bytes / TBFS_BLOCK_BYTES;
    return super->bytes % TBFS_BLOCK_BYTES == 0 && super->bytes / TBFS_BLOCK_BYTES <= blocks &&
           super->journal_offset == SUPER_JOURNAL && super->journal_bytes >= TBFS_JOURNAL_BYTES_MIN &&
           super->journal_bytes <= SUPER_JOURNAL_BYTES_MOST && super->journal_bytes % TBFS_BLOCK_BYTES == 0 &&
           super->inode_offset == SUPER_JOURNAL + super->journal_bytes && super->inode_count > TBFS_ROOT_INODE &&
           super->inode_count <= bytes / sizeof(struct tbfs_inode) &&
           super->data_offset ==
               super->inode_offset + super_whole_blocks(super->inode_count * sizeof(struct tbfs_inode)) &&
           super->data_offset < super->bytes;
}

static int check(const struct tbfs_super *super, uint64_t bytes) {
    if (super->magic != TBFS_MAGIC)
        return -EINVAL;
    if (super->version != TBFS_VERSION)
        return -EPROTONOSUPPORT;
    return super->checksum == super_checksum(super) && super_is_sound(super, bytes) ? 0 : -EUCLEAN;
}

int super_find(struct tbfs_space space, struct tbfs_super **super) {
    if (space.bytes < SUPER_JOURNAL)
        return -EINVAL;
    *super = (struct tbfs_super *)(space.base + SUPER_FIRST);
    int status = check(*super, space.bytes);
    struct tbfs_super *copy = (struct tbfs_super *)(space.base + SUPER_COPY);
    if (status == 0 || check(copy, space.bytes) < 0)
        return status;
    pm_copy(*super, copy, TBFS_SUPER_STATIC_BYTES);
    pm_flush(*super, TBFS_SUPER_STATIC_BYTES);
    pm_fence();
    return 0;
}
