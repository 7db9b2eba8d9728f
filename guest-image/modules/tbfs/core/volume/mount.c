/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * A mount recovers the journal, walks the trees of all inodes to find the used blocks, and then works off the truncate
 * list. The walk also checks every pointer, so later calls trust them.
 */
#include "../files/inode.h"
#include "../medium/journal.h"
#include "../medium/space.h"
#include "../medium/super.h"
#include "../pages/page.h"
#include "../pages/tree.h"

int64_t tbfs_memory_bytes(struct tbfs_space space) {
    struct tbfs_super *super;
    int status = super_find(space, &super);
    if (status < 0)
        return status;
    uint64_t blocks = super->bytes / TBFS_BLOCK_BYTES;
    uint64_t words = map_words(blocks) + map_words(super->inode_count) + space_piece_words(blocks);
    return (int64_t)(words * sizeof(uint64_t));
}

static unsigned twice_within_100(unsigned percent) { return percent > 50 && percent <= 100 ? 100 : 2 * percent; }

static struct tbfs_hybrid with_defaults(struct tbfs_hybrid hybrid) {
    return (struct tbfs_hybrid){
        .log_block_bytes = hybrid.log_block_bytes ? hybrid.log_block_bytes : TBFS_BLOCK_BYTES,
        .log_align_bytes = hybrid.log_align_bytes ? hybrid.log_align_bytes : sizeof(uint64_t),
        .log_write_bytes = hybrid.log_write_bytes ? hybrid.log_write_bytes : TBFS_BLOCK_BYTES / 2,
        .gc_read_bytes = hybrid.gc_read_bytes ? hybrid.gc_read_bytes : TBFS_BLOCK_BYTES,
        .read = hybrid.read ? hybrid.read : TBFS_READ_REVERSE,
        .multi = hybrid.multi ? hybrid.multi : TBFS_MULTI_CALL,
        .gc_low_percent = hybrid.gc_low_percent,
        .gc_high_percent = hybrid.gc_high_percent ? hybrid.gc_high_percent : twice_within_100(hybrid.gc_low_percent),
        .gc_idle_us = hybrid.gc_idle_us ? hybrid.gc_idle_us : 1000,
    };
}

static bool hybrid_exists(const struct tbfs_hybrid *hybrid) {
    unsigned bytes = hybrid->log_block_bytes, align = hybrid->log_align_bytes;
    return bytes >= TBFS_LOG_BLOCK_BYTES_MIN && bytes <= TBFS_BLOCK_BYTES && (bytes & (bytes - 1)) == 0 &&
           (align == sizeof(uint64_t) || align == TBFS_LINE_BYTES) && hybrid->log_write_bytes < TBFS_BLOCK_BYTES &&
           hybrid->read <= TBFS_READ_FORWARD && hybrid->multi <= TBFS_MULTI_PAGE && hybrid->gc_high_percent <= 100 &&
           hybrid->gc_low_percent <= hybrid->gc_high_percent && (hybrid->gc_low_percent || !hybrid->gc_high_percent);
}

static bool hybrid_is_absent(const struct tbfs_hybrid *hybrid) {
    return !hybrid->log_block_bytes && !hybrid->log_align_bytes && !hybrid->log_write_bytes && !hybrid->gc_read_bytes &&
           !hybrid->read && !hybrid->multi && !hybrid->gc_low_percent && !hybrid->gc_high_percent &&
           !hybrid->gc_idle_us;
}

static int take_options(struct tbfs_options *options) {
    unsigned atomic = options->atomic_bytes;
    if (options->metadata > TBFS_METADATA_LOG || (atomic && atomic != 8 && atomic != 16 && atomic != TBFS_LINE_BYTES))
        return -EINVAL;
    if (options->data == TBFS_DATA_INPLACE || options->data == TBFS_DATA_COW)
        return hybrid_is_absent(&options->hybrid) ? 0 : -EINVAL;
    options->hybrid = with_defaults(options->hybrid);
    return options->data == TBFS_DATA_HYBRID && hybrid_exists(&options->hybrid) ? 0 : -EINVAL;
}

static int mark(struct tbfs *fs, void *context, uint64_t place, bool is_slot) {
    const struct tbfs_inode *inode = context;
    if (is_slot)
        return page_mark(fs, place, S_ISREG(inode->mode));
    return space_has_block(fs, place) && map_mark(&fs->blocks, place / TBFS_BLOCK_BYTES) ? 0 : -EUCLEAN;
}

static bool is_sound(const struct tbfs_inode *inode) {
    return inode->height <= TBFS_HEIGHT_MAX && inode->block_class == 0 && inode->size <= TBFS_FILE_BYTES_MAX &&
           (!S_ISDIR(inode->mode) || inode->size % TBFS_BLOCK_BYTES == 0);
}

static int mark_all(struct tbfs *fs) {
    for (uint64_t block = 0; block < fs->super->data_offset / TBFS_BLOCK_BYTES; block++)
        map_mark(&fs->blocks, block);
    map_mark(&fs->inodes, 0);
    for (uint64_t ino = 1; ino < fs->super->inode_count; ino++) {
        struct tbfs_inode *inode = space_inode(fs, ino);
        if (!inode->mode)
            continue;
        map_mark(&fs->inodes, ino);
        if (!is_sound(inode) || tree_walk(fs, inode, mark, inode) < 0)
            return -EUCLEAN;
    }
    return 0;
}

int tbfs_mount(struct tbfs *fs, struct tbfs_space space, const struct tbfs_options *options, void *memory) {
    const struct tbfs_inode *root;
    memset(fs, 0, sizeof(*fs));
    fs->space = space;
    fs->options = *options;
    int status = take_options(&fs->options);
    if (status == 0)
        status = super_find(space, &fs->super);
    if (status < 0)
        return status;
    map_init(&fs->blocks, memory, fs->super->bytes / TBFS_BLOCK_BYTES);
    map_init(&fs->inodes, fs->blocks.words + map_words(fs->blocks.count), fs->super->inode_count);
    fs->pieces = fs->inodes.words + map_words(fs->inodes.count);
    memset(fs->pieces, 0, space_piece_words(fs->blocks.count) * sizeof(*fs->pieces));
    status = journal_recover(fs);
    if (status == 0)
        status = mark_all(fs);
    if (status == 0 && inode_find_directory(fs, TBFS_ROOT_INODE, &root) < 0)
        status = -EUCLEAN;
    return status < 0 ? status : inode_resume_truncates(fs);
}

void tbfs_statfs(const struct tbfs *fs, struct tbfs_statfs *result) {
    *result = (struct tbfs_statfs){
        .blocks = fs->blocks.count - fs->super->data_offset / TBFS_BLOCK_BYTES,
        .blocks_free = fs->blocks.free,
        .inodes = fs->inodes.count - 1,
        .inodes_free = fs->inodes.free,
    };
}
