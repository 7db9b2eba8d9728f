/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* The calls on a file's content. */
#include "../medium/bytes.h"
#include "../medium/invariant.h"
#include "../medium/space.h"
#include "../pages/append.h"
#include "../pages/data.h"
#include "../pages/page.h"
#include "../pages/tree.h"
#include "../persist.h"
#include "inode.h"
#include "merge.h"

/* A range of bytes of a file. The range of a transaction has a limited number of blocks. */
struct span {
    uint64_t begin, end;
};

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static struct span range_of_blocks(uint64_t begin, uint64_t end, uint64_t blocks) {
    return (struct span){begin, least(end, (begin / TBFS_BLOCK_BYTES + blocks) * TBFS_BLOCK_BYTES)};
}

/* The part of a range that lies in its first block. */
static struct span first_piece(struct span range) { return range_of_blocks(range.begin, range.end, 1); }

static int find_file(const struct tbfs *fs, uint64_t ino, const struct tbfs_inode **inode) {
    int status = inode_find(fs, ino, inode);
    if (status < 0 || S_ISREG((*inode)->mode))
        return status;
    return S_ISDIR((*inode)->mode) ? -EISDIR : -EINVAL;
}

static int find_to_change(const struct tbfs *fs, uint64_t ino, const struct tbfs_inode **inode) {
    int status = tx_begin(fs);
    return status < 0 ? status : find_file(fs, ino, inode);
}

/* Reads a part of a page. A read that finds a long log merges it. If the merge fails, a later read tries again. */
static int read_piece(struct tbfs *fs, uint64_t ino, struct span piece, const struct tbfs_sink *sink,
                      uint64_t sink_at) {
    uint64_t index = piece.begin / TBFS_BLOCK_BYTES, at = piece.begin % TBFS_BLOCK_BYTES;
    uint64_t slot = tree_get(fs, space_inode(fs, ino), index);
    int status = page_read(fs, slot, (struct page_range){at, at + piece.end - piece.begin}, sink, sink_at);
    if (status == 0 && fs->options.data == TBFS_DATA_HYBRID && slot_has_log(slot) &&
        log_length(fs, slot) > fs->options.hybrid.gc_read_bytes)
        merge_page(fs, ino, index);
    return status;
}

int64_t tbfs_read_to(struct tbfs *fs, uint64_t ino, uint64_t offset, const struct tbfs_sink *sink, uint64_t bytes) {
    const struct tbfs_inode *inode;
    int status = inode_find(fs, ino, &inode);
    if (status == 0 && !S_ISREG(inode->mode) && !S_ISLNK(inode->mode))
        status = S_ISDIR(inode->mode) ? -EISDIR : -EINVAL;
    if (status < 0 || offset >= inode->size)
        return status;
    struct span left = {offset, offset + least(bytes, inode->size - offset)};
    while (status == 0 && left.begin < left.end) {
        struct span piece = first_piece(left);
        status = read_piece(fs, ino, piece, sink, left.begin - offset);
        if (status == 0)
            left.begin = piece.end;
    }
    return left.begin > offset ? (int64_t)(left.begin - offset) : status;
}

static int copy_to_memory(void *context, uint64_t at, const void *source, uint64_t bytes) {
    uint8_t *to = *(uint8_t **)context + at;
    if (source)
        memcpy(to, source, bytes);
    else
        memset(to, 0, bytes);
    return 0;
}

int64_t tbfs_read(struct tbfs *fs, uint64_t ino, uint64_t offset, void *buffer, uint64_t bytes) {
    struct tbfs_sink sink = {copy_to_memory, &buffer};
    return tbfs_read_to(fs, ino, offset, &sink, bytes);
}

/* In the transaction. A crash may have left bytes behind the file's end, which would become visible once the end moves.
 * So bytes up to `begin` are zeroed. */
static void extend(struct tbfs *fs, struct tbfs_inode *inode, uint64_t begin, uint64_t end) {
    if (end <= inode->size)
        return;
    if (begin > inode->size)
        data_zero(fs, inode, inode->size, begin);
    tx_new_bytes(fs);
    inode->size = end;
}

static void touch(struct tbfs_inode *inode, uint32_t now) { inode->mtime = inode->ctime = now; }

static bool is_logged(const struct tbfs *fs, uint64_t bytes) {
    return fs->options.data == TBFS_DATA_HYBRID && bytes <= fs->options.hybrid.log_write_bytes;
}

/* Writes within one page: in place, to its log, or to a new block. */
static int write_piece(struct tbfs *fs, struct tbfs_inode *inode, struct span piece, const struct tbfs_source *source,
                       uint64_t source_at) {
    uint64_t index = piece.begin / TBFS_BLOCK_BYTES, at = piece.begin % TBFS_BLOCK_BYTES;
    uint64_t block = tree_get(fs, inode, index), bytes = piece.end - piece.begin;
    if (is_logged(fs, bytes)) {
        int status = log_append(fs, &block, at, bytes, source, source_at);
        return status < 0 ? status : tree_put(fs, inode, index, block);
    }
    if (!block || slot_has_log(block) || fs->options.data != TBFS_DATA_INPLACE) {
        int status = data_new_block(fs, inode, index, at, bytes, &block);
        if (status < 0)
            return status;
    }
    if (!invariant_holds(fs, space_in_use(fs, block), "a file has a free block, at", block))
        return -EUCLEAN;
    return source->copy(source->context, source_at, space_at(fs, block + at), bytes);
}

static int write_range(struct tbfs *fs, uint64_t ino, struct span range, const struct tbfs_source *source,
                       uint64_t source_at, uint32_t now) {
    struct tbfs_inode *inode = tx_inode(fs, ino);
    extend(fs, inode, range.begin, range.end);
    touch(inode, now);
    while (range.begin < range.end) {
        struct span piece = first_piece(range);
        int status = write_piece(fs, inode, piece, source, source_at);
        if (status < 0)
            return tx_forget(fs, status);
        source_at += piece.end - piece.begin;
        range.begin = piece.end;
    }
    return tx_commit(fs);
}

/* Each transaction's part is atomic. If space is short even after merges of logs, the parts become smaller. */
int64_t tbfs_write_from(struct tbfs *fs, uint64_t ino, uint64_t offset, const struct tbfs_source *source,
                        uint64_t bytes, uint32_t now) {
    const struct tbfs_inode *inode;
    int status = find_to_change(fs, ino, &inode);
    if (status == 0 && (offset > TBFS_FILE_BYTES_MAX || bytes > TBFS_FILE_BYTES_MAX - offset))
        status = -EFBIG;
    uint64_t at = offset, end = offset + bytes;
    fs->call_end = end;
    bool is_by_page = fs->options.hybrid.multi == TBFS_MULTI_PAGE;
    for (uint64_t blocks = is_by_page ? 1 : TBFS_BLOCKS_PER_TRANSACTION; status == 0 && at < end;) {
        struct span range = range_of_blocks(at, end, blocks);
        status = write_range(fs, ino, range, source, at - offset, now);
        if (status == 0)
            at = range.end;
        else if (merge_for_room(fs, status))
            status = 0;
        else if (status == -ENOSPC && blocks > 1)
            blocks /= 2, status = 0;
    }
    fs->call_end = 0;
    return status < 0 && at == offset ? status : (int64_t)(at - offset);
}

static int copy_from_memory(void *context, uint64_t at, void *target, uint64_t bytes) {
    bytes_copy(target, *(const uint8_t **)context + at, bytes);
    return 0;
}

int64_t tbfs_write(struct tbfs *fs, uint64_t ino, uint64_t offset, const void *data, uint64_t bytes, uint32_t now) {
    struct tbfs_source source = {copy_from_memory, &data};
    return tbfs_write_from(fs, ino, offset, &source, bytes, now);
}

int tbfs_find_extent(struct tbfs *fs, uint64_t ino, uint64_t offset, uint64_t bytes, struct tbfs_extent *extent) {
    const struct tbfs_inode *inode;
    int status = find_file(fs, ino, &inode);
    if (status == 0 && (offset >= TBFS_FILE_BYTES_MAX || bytes > TBFS_FILE_BYTES_MAX - offset))
        status = -EFBIG;
    if (status < 0)
        return status;
    uint64_t first = offset / TBFS_BLOCK_BYTES, end = size_in_blocks(offset + bytes), index = first + 1;
    uint64_t block = tree_get(fs, inode, first);
    bool has_log = slot_has_log(block);
    if (!block)
        index = tree_next(fs, inode, index, end > index ? end : index);
    while (block && !has_log && index < end && tree_get(fs, inode, index) == block + (index - first) * TBFS_BLOCK_BYTES)
        index++;
    *extent = (struct tbfs_extent){has_log ? 0 : block, (index - first) * TBFS_BLOCK_BYTES, has_log};
    return 0;
}

int tbfs_merge(struct tbfs *fs, uint64_t ino, uint64_t offset, uint64_t bytes) {
    const struct tbfs_inode *inode;
    int status = find_file(fs, ino, &inode);
    if (status == 0 && (offset > TBFS_FILE_BYTES_MAX || bytes > TBFS_FILE_BYTES_MAX - offset))
        status = -EFBIG;
    uint64_t index = offset / TBFS_BLOCK_BYTES, end = size_in_blocks(offset + bytes);
    while (status == 0 && (index = tree_next(fs, inode, index, end)) < end) {
        if (slot_has_log(tree_get(fs, inode, index)))
            status = merge_page(fs, ino, index);
        if (merge_for_room(fs, status))
            status = 0;
        else
            index++;
    }
    return status;
}

int tbfs_truncate(struct tbfs *fs, uint64_t ino, uint64_t size, uint32_t now) {
    const struct tbfs_inode *found;
    int status = find_to_change(fs, ino, &found);
    if (status == 0 && size > TBFS_FILE_BYTES_MAX)
        status = -EFBIG;
    if (status < 0)
        return status;
    struct tbfs_inode *inode = tx_inode(fs, ino);
    bool shrinks = size < inode->size;
    touch(inode, now);
    extend(fs, inode, size, size);
    inode->size = size;
    if (shrinks)
        inode_list(fs, ino, size);
    status = tx_commit(fs);
    return status == 0 && shrinks ? inode_finish_truncate(fs, ino) : status;
}

/* In the transaction: fills holes with blocks of zeros. */
static int fill_holes(struct tbfs *fs, struct tbfs_inode *inode, struct span range) {
    int status = 0;
    for (uint64_t index = range.begin / TBFS_BLOCK_BYTES; status == 0 && index * TBFS_BLOCK_BYTES < range.end;
         index++) {
        uint64_t block;
        if (!tree_get(fs, inode, index))
            status = data_new_block(fs, inode, index, 0, 0, &block);
    }
    return status;
}

/* In the transaction: removes the blocks that lie wholly in the range. */
static int make_holes(struct tbfs *fs, struct tbfs_inode *inode, struct span range) {
    uint64_t end = range.end / TBFS_BLOCK_BYTES, index = size_in_blocks(range.begin);
    for (; index < end; index++) {
        tx_give_page(fs, tree_get(fs, inode, index));
        tree_put(fs, inode, index, 0);
    }
    return 0;
}

static void zero_edges(struct tbfs *fs, const struct tbfs_inode *inode, struct span range) {
    uint64_t first = size_in_blocks(range.begin) * TBFS_BLOCK_BYTES, last = range.end - range.end % TBFS_BLOCK_BYTES;
    data_zero(fs, inode, range.begin, least(first, range.end));
    if (last >= first)
        data_zero(fs, inode, last, range.end);
}

static int allocate_range(struct tbfs *fs, uint64_t ino, unsigned flags, struct span range, uint32_t now) {
    struct tbfs_inode *inode = tx_inode(fs, ino);
    int status;
    touch(inode, now);
    if (flags & TBFS_PUNCH_HOLE) {
        status = make_holes(fs, inode, range);
    } else {
        if (!(flags & TBFS_KEEP_SIZE))
            extend(fs, inode, range.end, range.end);
        status = fill_holes(fs, inode, range);
    }
    return status < 0 ? tx_forget(fs, status) : tx_commit(fs);
}

/* Each transaction does one part. If space runs out, the completed parts stay. */
int tbfs_fallocate(struct tbfs *fs, uint64_t ino, unsigned flags, uint64_t offset, uint64_t bytes, uint32_t now) {
    const struct tbfs_inode *inode;
    int status = find_to_change(fs, ino, &inode);
    if (status == 0 && (flags & ~(unsigned)(TBFS_KEEP_SIZE | TBFS_PUNCH_HOLE) || flags == TBFS_PUNCH_HOLE))
        status = -EOPNOTSUPP;
    if (status == 0 && bytes == 0)
        status = -EINVAL;
    if (status == 0 && (offset > TBFS_FILE_BYTES_MAX || bytes > TBFS_FILE_BYTES_MAX - offset))
        status = -EFBIG;
    if (status == 0 && flags & TBFS_PUNCH_HOLE)
        zero_edges(fs, inode, (struct span){offset, offset + bytes});
    fs->call_end = offset + bytes;
    for (uint64_t at = offset, end = offset + bytes; status == 0 && at < end;) {
        struct span range = range_of_blocks(at, end, TBFS_BLOCKS_PER_TRANSACTION);
        do
            status = allocate_range(fs, ino, flags, range, now);
        while (merge_for_room(fs, status));
        at = range.end;
        if (flags & TBFS_PUNCH_HOLE)
            at = tree_next(fs, inode, size_in_blocks(at), size_in_blocks(end)) * TBFS_BLOCK_BYTES;
    }
    fs->call_end = 0;
    return status;
}
