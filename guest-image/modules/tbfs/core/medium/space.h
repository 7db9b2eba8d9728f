/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* Addresses in the space, and the maps of used blocks and inode numbers. The maps are in DRAM: each mount rebuilds
 * them. */
#ifndef TBFS_SPACE_H
#define TBFS_SPACE_H

#include "../tbfs.h"

static inline void *space_at(const struct tbfs *fs, uint64_t offset) { return fs->space.base + offset; }

static inline uint64_t space_offset(const struct tbfs *fs, const void *place) {
    return (uint64_t)((const uint8_t *)place - fs->space.base);
}

static inline struct tbfs_inode *space_inode(const struct tbfs *fs, uint64_t ino) {
    return (struct tbfs_inode *)space_at(fs, fs->super->inode_offset) + ino;
}

/* Whether the offset is the beginning of a block for data. An offset from the medium must pass this check before its
 * use. */
static inline bool space_has_block(const struct tbfs *fs, uint64_t offset) {
    return offset >= fs->super->data_offset && offset % TBFS_BLOCK_BYTES == 0 &&
           offset < fs->blocks.count * TBFS_BLOCK_BYTES;
}

/* Whether the block of this offset is in use. Only blocks for data can be free. */
static inline bool space_in_use(const struct tbfs *fs, uint64_t offset) {
    uint64_t block = offset / TBFS_BLOCK_BYTES;
    return block < fs->blocks.count && fs->blocks.words[block / 64] >> block % 64 & 1;
}

uint64_t map_words(uint64_t count);
void map_init(struct tbfs_map *map, uint64_t *words, uint64_t count);
bool map_has(const struct tbfs_map *map, uint64_t number);
bool map_mark(struct tbfs_map *map, uint64_t number); /* false: it was in use */
bool map_take(struct tbfs_map *map, uint64_t *number);
void map_release(struct tbfs_map *map, uint64_t number);

/* A process can map this many aligned blocks as one page of 2 MiB. Returns the number of the first block of a wholly
 * free group, 0: no group is wholly free. The search begins at the medium's end, as single blocks come from its
 * beginning. */
enum { SPACE_GROUP_BLOCKS = 512 };
uint64_t space_find_group(const struct tbfs *fs);

/* Frees a block that no durable pointer leads to. After the call recovery stores nothing into the block. */
void space_release_block(struct tbfs *fs, uint64_t offset);

/* Blocks of logs: 512 to 4096 bytes each, within one block of 4 KiB. */
static inline bool space_has_log_block(const struct tbfs *fs, uint64_t offset, uint64_t bytes) {
    return offset >= fs->super->data_offset && offset % bytes == 0 && offset < fs->blocks.count * TBFS_BLOCK_BYTES;
}
uint64_t space_piece_words(uint64_t blocks); /* size of the map of pieces */
bool space_take_log_block(struct tbfs *fs, uint64_t bytes, uint64_t *offset);
bool space_mark_log_block(struct tbfs *fs, uint64_t offset, uint64_t bytes);
void space_release_log_block(struct tbfs *fs, uint64_t offset, uint64_t bytes);

#endif
