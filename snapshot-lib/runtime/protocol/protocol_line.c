/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `line`: an undo log of lines, and two fences per commit.
 *
 * Before a line changes for the first time in an epoch, its old content goes to the thread's log. The commit:
 *
 *     rest of the log -> fence -> changed lines and the commit record -> fence
 *
 * Before the first fence, nothing in the file has changed; after it, every change in the file can be undone. Data and
 * record may become durable in any order: the record contains a hash of the new data, and recovery accepts the record
 * only if the file has exactly this data. The usual third fence, between data and record, is therefore not needed.
 *
 * A declared commit leaves its second fence to the first fence of the next commit. Until then, the next epoch fills log
 * blocks while this commit and the one before it may both still be needed: hence three sets of chunks.
 */
#include "protocols.h"

#include <errno.h>
#include <string.h>

#include "blocks.h"
#include "lines.h"
#include "log/hash.h"
#include "log/persist.h"
#include "log/records.h"

#define SETS 3u

static void line_log_content(struct thread_log *thread, uint32_t line, const uint8_t *content) {
    struct block *block = &thread->block;
    memcpy(block->data[block->header.line_count], content, LINE_BYTES);
    block->header.lines[block->header.line_count++] = line;
    if (block->header.line_count == BLOCK_LINES_MAX)
        thread_block_end(thread);
}

static void line_log(struct thread_log *thread, uint32_t line) {
    line_log_content(thread, line, line_working(thread->region, line));
}

static void log_range(struct thread_log *thread, uint64_t offset, uint64_t bytes) {
    lines_mark(thread, offset, bytes, line_log);
}

static uint64_t content_write(const struct region *region, uint64_t line, const uint8_t *content) {
    line_write(region, line, content);
    return line_hash(line, (const uint64_t *)(const void *)content);
}

/* lines_gather() has left each line in one list only, so the hash counts each line once. */
static int list_write(struct thread_log *thread) {
    uint64_t hash = 0;
    if (!thread->held) {
        for_each_word (line, &thread->changes)
            hash += content_write(thread->region, line, line_working(thread->region, line));
        thread->counts.data_bytes += thread->changes.count * LINE_BYTES;
        list_clean(thread);
        thread->changes.count = 0;
    }
    thread->data_hash = hash;
    log_epoch_end(thread);
    return 0;
}

/* Write all changed lines. Return the sum of their hashes. */
static uint64_t data_write(struct region *region) {
    uint64_t hash = 0;
    (void)region_each_log(region, list_write);
    for_each_thread (thread, region)
        hash += thread->data_hash;
    for_each_held(line, region) hash += content_write(region, line, held_content(region, line));
    region->stats.data_bytes += held_count(region) * LINE_BYTES;
    return hash;
}

/* Log each held line for the new epoch with the content that the commit wrote. The first log that lists a line clears
 * its `place`, so that the line is logged once. */
static void carry(struct thread_log *thread) {
    struct region *region = thread->region;
    for_each_word (line, &thread->changes) {
        const uint8_t *content = held_content(region, line);
        if (!content)
            continue;
        line_log_content(thread, (uint32_t)line, content);
        region->held.place[line] = 0;
    }
    thread->change_count = thread->changes.count;
}

static int commit(struct region *region, enum commit_mode mode) {
    int status = thread_logs_write(region);
    if (status < 0)
        return status;
    region_fence(region);
    struct record record = {.epoch = region->epoch,
                            .epoch_before = region->epoch_record,
                            .line_count = lines_gather(region),
                            .protocol = protocol_line.id,
                            .declared = mode == COMMIT_DECLARED};
    record.data_hash = data_write(region);
    record_write(region->log, record);
    region->epoch_record = record.epoch;
    region->stats.log_bytes += sizeof(record);
    region->stats.lines_logged += record.line_count;
    lines_hold(region);
    return 0;
}

static int rollback(struct region *region) {
    for_each_thread (thread, region)
        for_each_word (line, &thread->changes)
            line_restore(region, line);
    return 0;
}

/*
 * Recovery. Let E be the newest epoch with a record.
 *
 *  1. The log of E+1 has the content that an unfinished epoch may have overwritten: write it back. If this log is torn,
 *     the fence after it was never passed and no data was written, so writing back the readable part changes nothing.
 *  2. The record of E may be durable without all its data. The log of E is certainly durable, because a fence preceded
 *     the record. If the logged lines do not have the recorded hash, E did not finish either: write its old content
 *     back too.
 *
 * Every step writes the same values when it is repeated.
 */
struct walk {
    const struct recovery_job *job;
    uint64_t line_count; /* results */
    uint64_t hash;       /* over the present content of the file */
};

static void visit_undo(void *context, const struct block *block) {
    struct walk *walk = context;
    for (uint32_t i = 0; i < block->header.line_count; i++)
        if (block->header.lines[i] < walk->job->line_limit) {
            persist_copy(walk->job->backing + (uint64_t)block->header.lines[i] * LINE_BYTES, block->data[i],
                         LINE_BYTES);
            walk->line_count++;
        }
}

static void visit_hash(void *context, const struct block *block) {
    struct walk *walk = context;
    for (uint32_t i = 0; i < block->header.line_count; i++)
        if (block->header.lines[i] < walk->job->line_limit) {
            uint64_t line = block->header.lines[i];
            walk->hash += line_hash(line, (const void *)(walk->job->backing + line * LINE_BYTES));
            walk->line_count++;
        }
}

static struct walk walk_epoch(const struct recovery_job *job, uint64_t epoch, block_visitor *visit) {
    struct walk walk = {.job = job};
    log_walk(job->log, SETS, epoch, visit, &walk);
    return walk;
}

static bool is_finished(const struct recovery_job *job) {
    if (job->last.line_count == 0)
        return true;
    return walk_epoch(job, job->last.epoch, visit_hash).hash == job->last.data_hash;
}

static int recover_line(struct recovery_job *job) {
    uint64_t epoch = job->last.epoch;
    if (job->last.line_count > 0 && walk_epoch(job, epoch, visit_hash).line_count != job->last.line_count)
        return -EUCLEAN;
    job->epoch = epoch;
    job->lines_undone = walk_epoch(job, epoch + 1, visit_undo).line_count;
    if (is_finished(job))
        return 0;
    if (job->lines_undone > 0 && !job->last.declared)
        return -EUCLEAN; /* an epoch began although the one before it had not finished */
    job->lines_undone += walk_epoch(job, epoch, visit_undo).line_count;
    job->epoch--;
    return 0;
}

const struct protocol protocol_line = {
    .name = "line",
    .id = 1,
    .sets = SETS,
    .log_range = log_range,
    .commit = commit,
    .carry = carry,
    .rollback = rollback,
    .forget = lines_reset,
    .cut = lines_cut,
    .recover = recover_line,
};
