/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The format of the log file, `<file>.snapshot-log`.
 *
 *     0       superblock: written once
 *     1024    file record of even sequence numbers
 *     1280    file record of odd sequence numbers
 *     4096    record of an even epoch
 *     4352    record of an odd epoch; the newer valid one of the two counts
 *     8192    chunks: number n belongs to set n mod `sets`, a number that each protocol chooses
 *
 * An epoch is the time between two commits. Its log consists of blocks in the chunks of set (epoch mod sets): a header
 * line and up to ten lines of content. A block names its epoch and its place in its chunk. Epoch numbers are never used
 * again, by any protocol, so blocks of earlier epochs cannot be mistaken for blocks of this one.
 */
#ifndef SNAPSHOT_FORMAT_H
#define SNAPSHOT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define LINE_BYTES 64u
#define LINE_WORDS (LINE_BYTES / 8)
#define BLOCK_LINES_MAX 10u
#ifndef CHUNK_BYTES /* tests use smaller ones, to have more of them */
#define CHUNK_BYTES 65536u
#endif
#define LOG_FILE_RECORD_OFFSET 1024u
#define LOG_RECORD_OFFSET 4096u
#define LOG_RECORD_STRIDE 256u
#define LOG_CHUNKS_OFFSET 8192u
#ifndef LOG_CHUNKS_INITIAL
#define LOG_CHUNKS_INITIAL 16u
#endif
#define DATA_BYTES_MAX ((uint64_t)LINE_BYTES << 32)

#define LOG_MAGIC 0x31474f4c50414e53u /* "SNAPLOG1" */
#define LOG_VERSION 3u
#define LOG_BYTE_ORDER 0x01020304u

struct superblock {
    uint64_t checksum;
    uint64_t magic;
    uint32_t version;
    uint32_t byte_order;
    uint64_t reserved[5];
};

/* Identifies the file that the log belongs to. Records alternate between two places, so that a torn write leaves the
 * previous record. */
struct file_record {
    uint64_t checksum;
    uint64_t sequence;   /* of two valid records, the one with the higher number counts */
    uint64_t bytes;      /* size of the file */
    uint64_t bytes_next; /* the other possible size while the file is being resized; else equal to `bytes` */
    uint64_t inode;
    uint64_t birth_ns; /* inode numbers are used again; 0: the file system has no birth times */
    uint64_t address;  /* last address of the working copy */
    uint64_t reserved;
};

/* The record of an epoch. The protocol determines which epochs have a record, and the meaning of the other fields. */
struct record {
    uint64_t checksum;
    uint64_t epoch;
    uint64_t epoch_before; /* epoch of the previous record, in the other place */
    uint32_t protocol;     /* protocol of the epochs that follow */
    uint32_t declared;     /* 1: the commit did not wait to be durable */
    uint64_t line_count;   /* number of logged lines of the epoch; 0: nothing to verify */
    uint64_t data_hash;    /* sum over these lines of line_hash(line, new content) */
    uint64_t reserved[2];
};

struct block_header {
    uint64_t checksum; /* over the rest of the header and the lines */
    uint64_t epoch;
    uint16_t sequence; /* place of the block in its chunk */
    uint16_t line_count;
    uint32_t epoch_lines;            /* redo: number of lines of the whole epoch */
    uint32_t lines[BLOCK_LINES_MAX]; /* line, redo: offset in the file / 64 */
};

struct block {
    _Alignas(LINE_BYTES) struct block_header header; /* aligned in DRAM too, because it is written in whole lines */
    uint64_t data[BLOCK_LINES_MAX][LINE_WORDS];
};

_Static_assert(sizeof(struct superblock) == LINE_BYTES, "one line");
_Static_assert(sizeof(struct file_record) == LINE_BYTES, "one line");
_Static_assert(sizeof(struct record) == LINE_BYTES, "one line");
_Static_assert(sizeof(struct block_header) == LINE_BYTES, "one line");
_Static_assert(sizeof(struct block) == (1 + BLOCK_LINES_MAX) * LINE_BYTES, "no padding");

static inline size_t block_bytes(uint32_t line_count) { return (size_t)(1 + line_count) * LINE_BYTES; }

static inline uint64_t log_record_offset(uint64_t epoch) { return LOG_RECORD_OFFSET + (epoch & 1) * LOG_RECORD_STRIDE; }

static inline uint64_t log_file_record_offset(uint64_t sequence) {
    return LOG_FILE_RECORD_OFFSET + (sequence & 1) * LOG_RECORD_STRIDE;
}

/* The offset of chunk number `index` in the set of this epoch. */
static inline uint64_t log_chunk_offset(uint32_t sets, uint64_t epoch, uint64_t index) {
    return LOG_CHUNKS_OFFSET + (sets * index + epoch % sets) * CHUNK_BYTES;
}

static inline uint64_t log_chunk_count(uint64_t log_bytes) {
    return log_bytes < LOG_CHUNKS_OFFSET ? 0 : (log_bytes - LOG_CHUNKS_OFFSET) / CHUNK_BYTES;
}

#endif
