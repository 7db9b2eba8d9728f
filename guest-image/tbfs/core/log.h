/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * The log of a page: what was written to parts of it since its block was. Blocks in a chain hold entries, each with its
 * data first and then what they are, so that it is read from the newest one backwards. One word commits: the head.
 */
#ifndef TBFS_LOG_H
#define TBFS_LOG_H

#include "space.h"

enum { LOG_HEADER_BYTES = sizeof(struct tbfs_log_block), LOG_ENTRY_BYTES_MIN = 16 };

static inline bool slot_has_log(uint64_t slot) { return slot & TBFS_SLOT_LOG; }

/* Of each of its blocks. */
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

/* The block that holds what ends there. */
static inline uint64_t log_block_of(uint64_t slot, uint64_t end) { return (end - 1) & ~(slot_log_bytes(slot) - 1); }

struct log_entry {
    uint64_t data;   /* where its bytes are */
    uint64_t offset; /* in the page */
    uint64_t size;
};

/* The entry that ends at `*end`, which moves to the end of the one before it, 0: there is none. */
struct log_entry log_previous(const struct tbfs *fs, uint64_t slot, uint64_t *end);

/* From its begin to its head, with the headers of its blocks. */
uint64_t log_length(const struct tbfs *fs, uint64_t slot);

/* In the transaction: `bytes` at `at` of the page. `*slot` gets a log if it has none. */
int log_append(struct tbfs *fs, uint64_t *slot, uint64_t at, uint64_t bytes, const struct tbfs_source *source,
               uint64_t source_at);

/* Looks at all of a log, and marks its blocks as in use. -EUCLEAN: it is none, or has a block of another one. */
int log_mark(struct tbfs *fs, uint64_t slot);
void log_release(struct tbfs *fs, uint64_t slot); /* its blocks are free; the medium stays as it is */

#endif
