/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * The log of a page: writes to parts of the page since its block was written. A chain of blocks holds entries. Each
 * entry has its data first and their description last, so that the log is read backwards from the newest entry. One
 * word commits: the head.
 */
#ifndef TBFS_LOG_H
#define TBFS_LOG_H

#include "../medium/space.h"

enum { LOG_HEADER_BYTES = sizeof(struct tbfs_log_block), LOG_ENTRY_BYTES_MIN = 16 };

static inline bool slot_has_log(uint64_t slot) { return slot & TBFS_SLOT_LOG; }

/* The size of each block of the log. */
static inline uint64_t slot_log_bytes(uint64_t slot) {
    return TBFS_LOG_BLOCK_BYTES_MIN << (slot >> TBFS_SLOT_CLASS_SHIFT & 3);
}

static inline uint64_t slot_log(uint64_t slot) { return slot / TBFS_LOG_BLOCK_BYTES_MIN * TBFS_LOG_BLOCK_BYTES_MIN; }

static inline uint64_t slot_of_log(uint64_t offset, uint64_t block_bytes) {
    unsigned class = (unsigned)__builtin_ctzll(block_bytes / TBFS_LOG_BLOCK_BYTES_MIN);
    return offset | class << TBFS_SLOT_CLASS_SHIFT | TBFS_SLOT_LOG;
}

static inline struct tbfs_log_block *log_first(const struct tbfs *fs, uint64_t slot) {
    return space_at(fs, slot_log(slot));
}

static inline struct tbfs_log_block *log_block_at(const struct tbfs *fs, uint64_t offset) {
    return space_at(fs, offset);
}

static inline uint64_t log_in_units(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

/* The block of the entry that ends there. */
static inline uint64_t log_block_of(uint64_t slot, uint64_t end) { return (end - 1) & ~(slot_log_bytes(slot) - 1); }

struct log_entry {
    uint64_t data;   /* offset of its bytes in the space */
    uint64_t offset; /* in the page */
    uint64_t size;
};

/* Returns the entry that ends at `*end`, and moves `*end` to the end of the next older entry, 0: this entry is the
 * oldest. */
struct log_entry log_previous(const struct tbfs *fs, uint64_t slot, uint64_t *end);

/* The length from the log's beginning to an end of an entry, or to its head, with the headers of its blocks. */
uint64_t log_length_until(const struct tbfs *fs, uint64_t slot, uint64_t end);
uint64_t log_length(const struct tbfs *fs, uint64_t slot);

/* Checks a whole log, and marks its blocks as in use. -EUCLEAN: the log is invalid, or one of its blocks is already in
 * use. */
int log_mark(struct tbfs *fs, uint64_t slot);
void log_release(struct tbfs *fs, uint64_t slot); /* frees its blocks; the medium stays unchanged */

#endif
