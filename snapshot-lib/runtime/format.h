/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What lies in the log file, `<file>.snapshot-log`.
 *
 *     0       superblock
 *     1024    file record of even sequence numbers
 *     1280    file record of odd sequence numbers
 *     4096    commit record of even epochs
 *     4352    commit record of odd epochs
 *     8192    chunk 0 (even epochs), chunk 1 (odd epochs), chunk 2 (even), ...
 *
 * An epoch is what happens between two commits. Each thread fills chunks of its own with blocks: a header line and the
 * old content of up to ten lines of data. A block belongs to an epoch and has a place in its chunk, so whatever earlier
 * epochs left behind can never be taken for part of this one. Two sets of chunks alternate because the log of the last
 * commit must stay readable until the next commit is durable: see recover.c.
 */
#ifndef SNAPSHOT_FORMAT_H
#define SNAPSHOT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define LINE_BYTES 64u
#define BLOCK_LINES_MAX 10u
#ifndef CHUNK_BYTES /* tests use smaller ones, to have more of them */
#define CHUNK_BYTES 65536u
#endif
#define LOG_FILE_RECORD_OFFSET 1024u
#define LOG_RECORD_OFFSET 4096u
#define LOG_RECORD_STRIDE 256u
#define LOG_CHUNKS_OFFSET 8192u
#define LOG_CHUNKS_INITIAL 16u
#define DATA_BYTES_MAX ((uint64_t)LINE_BYTES << 32)

#define LOG_MAGIC 0x31474f4c50414e53u /* "SNAPLOG1" */
#define LOG_VERSION 2u
#define LOG_BYTE_ORDER 0x01020304u

struct superblock {
    uint64_t checksum;
    uint64_t magic;
    uint32_t version;
    uint32_t byte_order;
    uint64_t reserved[5];
};

/* Which file the log belongs to. Two places alternate, so that a torn write leaves the record before it. */
struct file_record {
    uint64_t checksum;
    uint64_t sequence;   /* the higher of two valid ones counts */
    uint64_t bytes;      /* size of the file */
    uint64_t bytes_next; /* another one while the file is being resized: it may have either */
    uint64_t inode;
    uint64_t birth_ns; /* inode numbers are used again; 0: the file system does not know */
    uint64_t address;  /* where the working copy was last */
    uint64_t reserved;
};

struct commit_record {
    uint64_t checksum;
    uint64_t epoch;
    uint64_t line_count; /* logged lines of the epoch; 0: nothing to verify */
    uint64_t data_hash;  /* sum over these lines of line_hash(line, new content) */
    uint64_t reserved[4];
};

struct block_header {
    uint64_t checksum; /* over the rest of the header and the lines */
    uint64_t epoch;
    uint32_t sequence; /* place of the block in its chunk */
    uint32_t line_count;
    uint32_t lines[BLOCK_LINES_MAX]; /* offset in the file / 64 */
};

struct block {
    struct block_header header;
    uint64_t data[BLOCK_LINES_MAX][LINE_BYTES / 8];
};

_Static_assert(sizeof(struct superblock) == LINE_BYTES, "one line");
_Static_assert(sizeof(struct file_record) == LINE_BYTES, "one line");
_Static_assert(sizeof(struct commit_record) == LINE_BYTES, "one line");
_Static_assert(sizeof(struct block_header) == LINE_BYTES, "one line");
_Static_assert(sizeof(struct block) == (1 + BLOCK_LINES_MAX) * LINE_BYTES, "no padding");

static inline size_t block_bytes(uint32_t line_count) { return (size_t)(1 + line_count) * LINE_BYTES; }

static inline uint64_t log_record_offset(uint64_t epoch) { return LOG_RECORD_OFFSET + (epoch & 1) * LOG_RECORD_STRIDE; }

static inline uint64_t log_file_record_offset(uint64_t sequence) {
    return LOG_FILE_RECORD_OFFSET + (sequence & 1) * LOG_RECORD_STRIDE;
}

/* Chunk number `index` of those that serve epochs of this parity. */
static inline uint64_t log_chunk_offset(uint64_t epoch, uint64_t index) {
    return LOG_CHUNKS_OFFSET + (2 * index + (epoch & 1)) * CHUNK_BYTES;
}

static inline uint64_t log_chunk_count(uint64_t log_bytes) {
    return log_bytes < LOG_CHUNKS_OFFSET ? 0 : (log_bytes - LOG_CHUNKS_OFFSET) / CHUNK_BYTES;
}

#endif
