/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery. Let E be the newest epoch with a valid commit record.
 *
 *  1. The log of E+1 holds what an unfinished epoch may have overwritten: put it back. If that log is torn, its fence
 *     was never passed and no data was written, so putting back the readable part changes nothing.
 *  2. The record of E may be durable without all its data. Its log certainly is: a fence stood before the record. If
 *     the logged lines do not have the recorded hash, E did not finish either: put its old content back too.
 *  3. Retire E+1 with an empty commit record, so that blocks a torn log left behind never match an epoch again.
 *
 * Every step writes the same values when it is repeated, and the record of step 3 is fenced after the others, so a
 * crash during recovery leads to the same end.
 */
#include "internal.h"

#include <errno.h>
#include <string.h>

#include "hash.h"
#include "persist.h"

struct epoch_log {
    struct log_view log;
    uint64_t epoch;
    uint8_t *backing;
    uint64_t line_limit;
    uint64_t line_count; /* result of a walk */
    uint64_t hash;       /* result of a walk: over what the file has now */
};

static const struct commit_record *record_read(struct log_view log, uint64_t parity) {
    const struct commit_record *record = (const void *)(log.base + log_record_offset(parity));
    bool valid = record->checksum == self_checksum(record) && (record->epoch & 1) == parity;
    return valid ? record : NULL;
}

/* The newest valid record. The other may be torn; two torn or unrelated ones are damage. */
static const struct commit_record *record_newest(struct log_view log) {
    const struct commit_record *even = record_read(log, 0), *odd = record_read(log, 1);
    if (!even || !odd)
        return even ? even : odd;
    const struct commit_record *newest = even->epoch > odd->epoch ? even : odd;
    const struct commit_record *other = newest == even ? odd : even;
    return newest->epoch - other->epoch == 1 ? newest : NULL;
}

static bool block_is_valid(const struct epoch_log *walk, const struct block *block, uint64_t room, uint32_t sequence) {
    const struct block_header *header = &block->header;
    if (room < block_bytes(1) || header->epoch != walk->epoch || header->sequence != sequence)
        return false;
    if (header->line_count == 0 || header->line_count > BLOCK_LINES_MAX || block_bytes(header->line_count) > room)
        return false;
#ifndef SNAPSHOT_SEEDED_BUG_NO_CHECKSUM
    if (header->checksum != block_checksum(header, block->data))
        return false;
#endif
    for (uint32_t i = 0; i < header->line_count; i++)
        if (header->lines[i] >= walk->line_limit)
            return false;
    return true;
}

typedef void line_visitor(struct epoch_log *walk, uint32_t line, const uint64_t *old_content);

static void visit_undo(struct epoch_log *walk, uint32_t line, const uint64_t *old_content) {
    persist_copy(walk->backing + (uint64_t)line * LINE_BYTES, old_content, LINE_BYTES);
    walk->line_count++;
}

static void visit_hash(struct epoch_log *walk, uint32_t line, const uint64_t *old_content) {
    (void)old_content;
    walk->hash += line_hash(line, (const uint64_t *)(walk->backing + (uint64_t)line * LINE_BYTES));
    walk->line_count++;
}

static void walk_chunk(struct epoch_log *walk, uint64_t offset, line_visitor *visit) {
    uint64_t end = offset + CHUNK_BYTES;
    for (uint32_t sequence = 0;; sequence++) {
        const struct block *block = (const void *)(walk->log.base + offset);
        if (!block_is_valid(walk, block, end - offset, sequence))
            return;
        for (uint32_t i = 0; i < block->header.line_count; i++)
            visit(walk, block->header.lines[i], block->data[i]);
        offset += block_bytes(block->header.line_count);
    }
}

/* A line is logged once per epoch, so the order of the blocks does not matter. */
static void walk_epoch(struct epoch_log *walk, line_visitor *visit) {
    uint64_t chunk_count = log_chunk_count(walk->log.bytes);
    walk->line_count = 0;
    walk->hash = 0;
    for (uint64_t index = 0; 2 * index + (walk->epoch & 1) < chunk_count; index++)
        walk_chunk(walk, log_chunk_offset(walk->epoch, index), visit);
}

/* Of the lines the committed epoch has logged, the file has the content that was committed. */
static bool is_finished(const struct epoch_log *committed, const struct commit_record *record) {
#ifdef SNAPSHOT_SEEDED_BUG_NO_DATA_HASH
    (void)committed;
    (void)record;
    return true;
#else
    return committed->hash == record->data_hash;
#endif
}

int recover(struct log_view log, uint8_t *backing, uint64_t data_bytes, struct recovery *result) {
    const struct commit_record *newest = record_newest(log);
    if (!newest)
        return -EUCLEAN;
    struct commit_record last = *newest;
    uint64_t line_limit = (data_bytes + LINE_BYTES - 1) / LINE_BYTES;
    struct epoch_log unfinished = {.log = log, .epoch = last.epoch + 1, .backing = backing, .line_limit = line_limit};
    struct epoch_log committed = {.log = log, .epoch = last.epoch, .backing = backing, .line_limit = line_limit};

    if (last.line_count > 0) {
        walk_epoch(&committed, visit_hash);
        if (committed.line_count != last.line_count)
            return -EUCLEAN; /* before anything is changed */
    }
    walk_epoch(&unfinished, visit_undo);
    if (last.line_count > 0)
        walk_epoch(&committed, visit_hash);
    *result = (struct recovery){.epoch = last.epoch, .epoch_next = last.epoch + 2};
    if (!is_finished(&committed, &last)) {
        if (unfinished.line_count > 0)
            return -EUCLEAN; /* an epoch began although the one before it had not finished */
        walk_epoch(&committed, visit_undo);
        result->epoch--;
        result->lines_undone = committed.line_count;
    }
    result->lines_undone += unfinished.line_count;
#ifdef SNAPSHOT_SEEDED_BUG_NO_RETIRE
    result->epoch_next = last.epoch + 1;
    persist_fence();
#else
    persist_fence();
    write_commit_record(log, last.epoch + 1, 0, 0);
    persist_fence();
#endif
    return 0;
}
