/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `redo`: one fence per commit; the file itself is written later.
 *
 * The first store to a line in an epoch puts the line on the thread's list; nothing goes to the device. The commit of
 * epoch N:
 *
 *     new content of the changed lines to the log -> fence -> lines of N-1 that N did not change, to the file
 *
 * Each block states how many lines its epoch has, so the blocks are their own commit record. The fence of the next
 * commit waits for the writes to the file, a whole epoch later. A line that changes in every epoch is never written to
 * the file.
 *
 * Logs needed after a crash. Fence N makes durable the log of N and everything sent to the file before it: all of N-2
 * and older, except lines that a younger log has. After fence N, recovery therefore needs the logs of N-1 and N; before
 * it, the logs of N-2, N-1 and, if it is complete, N. Nothing of N is in the file before fence N+1. While N+1 is
 * written, the logs of N, N-1 and N-2 stay untouched in sets of their own. Three sets would suffice if recovery
 * tolerated a damaged log of N-2; with four, it can insist on all three logs.
 *
 * A declared commit leaves its fence, and the writes after it, to the beginning of the next commit. A line of N-1 that
 * has changed again by then is not written to the file: the next commit's log has it, and until then the log of N-1 is
 * whole.
 *
 * A fence waits only for the writes of its own thread. In a program of several threads, the thread that writes a log
 * therefore sends the lines that are due to the file just before it: for each list, this is a thread with a fence that
 * the commit waits for.
 */
#include "protocols.h"

#include <errno.h>
#include <string.h>

#include "blocks.h"
#include "lines.h"
#include "lists.h"
#include "log/log_file.h"
#include "log/persist.h"

#define SETS 4u

static void log_range(struct thread_log *thread, uint64_t offset, uint64_t bytes) {
    lines_mark(thread, offset, bytes, NULL);
}

/*
 * A concurrent store may reach the file early. The logs have the content that recovery writes over it: a tracker that
 * finds stores afterwards reports this store for the next commit, and until then the log of the last commit but one is
 * whole.
 */
static void due_write(const struct region *region, uint64_t line) {
    _Alignas(LINE_BYTES) uint8_t content[LINE_BYTES];
    if (!tracker_sees_own_stores(region)) {
        line_write(region, line, line_working(region, line));
        return;
    }
    line_take(region, line, content);
    line_write(region, line, content);
}

/* Write the lines that are due and have not changed since to the file. Return the number of bytes. */
static uint64_t list_settle(struct thread_log *thread) {
    uint64_t lines = 0;
    for_each_word (line, &thread->due)
        if (!line_is_dirty(thread->region, line)) {
            due_write(thread->region, line);
            lines++;
        }
    thread->due.count = 0;
    return lines * LINE_BYTES;
}

static void settled(struct region *region) {
    for_each_thread (thread, region)
        region->stats.data_bytes += list_settle(thread);
}

static void vectors_swap(struct vector *one, struct vector *other) {
    struct vector kept = *one;
    *one = *other;
    *other = kept;
}

/* The lines of the last commit become due, except those that this commit has too. */
static void committed_advance(struct thread_log *thread) {
    uint64_t *lines = thread->committed.items;
    size_t kept = 0;
    for_each_word (line, &thread->committed)
        if (!line_is_dirty(thread->region, line))
            lines[kept++] = line;
    thread->committed.count = kept;
    vectors_swap(&thread->due, &thread->committed);
}

static void list_advance(struct thread_log *thread) {
    log_epoch_end(thread);
    if (thread->held) {
        for_each_word (line, list_of(thread))
            vector_push_word(&thread->committed, line);
        return;
    }
    list_clean(thread);
    vectors_swap(&thread->changes, &thread->committed);
}

/*
 * Another log may list a line that is due in this log since an earlier commit, and may already have marked it clean.
 * The file then gets the line's new content early. As in due_write(), the log of the earlier commit still has the line.
 */
static int log_write(struct thread_log *thread) {
    thread->counts.data_bytes += list_settle(thread);
    list_write(thread, SETS);
    committed_advance(thread);
    list_advance(thread);
    return 0;
}

static int commit(struct region *region, enum commit_mode mode) {
    (void)mode;
    region_settle(region);
    uint64_t lines = lines_gather(region);
    int status = log_file_grow(region, SETS * lists_assign(region, lines));
    if (status < 0) {
        lines_keep(region);
        return status; /* nothing is written yet that this commit's fence would have to wait for */
    }
    (void)region_each_log(region, log_write);
    lines_hold(region);
    return 0;
}

static void publish_block(void *context, const struct block *block) {
    struct region *region = context;
    for (uint32_t i = 0; i < block->header.line_count; i++)
        persist_copy(line_backing(region, block->header.lines[i]), block->data[i], LINE_BYTES);
    region->stats.data_bytes += (uint64_t)block->header.line_count * LINE_BYTES;
}

static uint64_t epoch_first(uint64_t base, uint64_t last, uint64_t count) {
    return last - base < count ? base + 1 : last - count + 1;
}

struct walk {
    const struct recovery_job *job;
    uint64_t lines; /* within the file */
    uint64_t epoch_lines;
    bool agree; /* all blocks state the same epoch_lines */
};

static void count_block(void *context, const struct block *block) {
    struct walk *walk = context;
    walk->agree &= walk->epoch_lines == 0 || walk->epoch_lines == block->header.epoch_lines;
    walk->epoch_lines = block->header.epoch_lines;
    for (uint32_t i = 0; i < block->header.line_count; i++)
        walk->lines += block->header.lines[i] < walk->job->line_limit;
}

static void replay_block(void *context, const struct block *block) {
    struct recovery_job *job = context;
    for (uint32_t i = 0; i < block->header.line_count; i++)
        persist_copy(job->backing + (uint64_t)block->header.lines[i] * LINE_BYTES, block->data[i], LINE_BYTES);
    job->lines_replayed += block->header.line_count;
}

static bool is_complete(const struct recovery_job *job, uint64_t epoch) {
    struct walk walk = {.job = job, .agree = true};
    uint64_t lines = log_walk(job->log, SETS, epoch, count_block, &walk);
    return lines > 0 && walk.agree && walk.epoch_lines == lines && walk.lines == lines;
}

/* The candidates are the epochs named in the first block of each set. */
static uint64_t newest_complete(const struct recovery_job *job) {
    uint64_t newest = job->last.epoch;
    for (uint64_t set = 0; set < SETS && log_chunk_count(job->log.bytes) > set; set++) {
        const struct block_header *header = (const void *)(job->log.base + log_chunk_offset(SETS, set, 0));
        if (header->epoch > newest && is_complete(job, header->epoch))
            newest = header->epoch;
    }
    return newest;
}

static bool all_complete(const struct recovery_job *job, uint64_t first, uint64_t end) {
    for (uint64_t epoch = first; epoch < end; epoch++)
        if (!is_complete(job, epoch))
            return false;
    return true;
}

static bool is_clean(const struct region *region, const struct vector *lines) {
    for_each_word (line, lines)
        if (line_is_dirty(region, line))
            return false;
    return true;
}

/* True if no line that may be in the log alone has changed since its commit: the working copy then has its committed
 * content. */
static bool working_copy_has_all(const struct region *region) {
    for_each_thread (thread, region)
        if (!is_clean(region, &thread->due) || !is_clean(region, &thread->committed))
            return false;
    return true;
}

static void publish_list(struct region *region, const struct vector *lines) {
    for_each_word (line, lines)
        line_write(region, line, line_working(region, line));
    region->stats.data_bytes += lines->count * LINE_BYTES;
}

static void publish_working_copy(struct region *region) {
    for_each_thread (thread, region) {
        publish_list(region, &thread->due);
        publish_list(region, &thread->committed);
    }
}

static bool is_published(const struct region *region) {
    for_each_thread (thread, region)
        if (thread->committed.count > 0 || thread->due.count > 0)
            return false;
    return true;
}

static void published(struct region *region) {
    for_each_thread (thread, region)
        thread->committed.count = thread->due.count = 0;
}

/*
 * Publish from the logs of the last two commits, because the working copy may already have newer content of a line. If
 * no line of these logs has newer content, the working copy can replace a damaged log.
 */
static int publish(struct region *region) {
    if (!region->unsettled && is_published(region))
        return 0;
    region_settle(region);
    struct recovery_job job = {.log = region->log, .line_limit = (region->bytes + LINE_BYTES - 1) / LINE_BYTES};
    uint64_t last = region->epoch - 1, first = epoch_first(region->epoch_record, last, 2);
    bool is_whole = all_complete(&job, first, last + 1);
    if (!is_whole && !working_copy_has_all(region))
        return -EUCLEAN;
    for (uint64_t epoch = first; is_whole && epoch <= last; epoch++)
        log_walk(region->log, SETS, epoch, publish_block, region);
    if (!is_whole)
        publish_working_copy(region);
    region_fence(region);
    published(region);
    return 0;
}

static int rollback(struct region *region) {
    int status = publish(region);
    if (status < 0)
        return status;
    for_each_thread (thread, region)
        for_each_word (line, &thread->changes)
            line_restore(region, line);
    return 0;
}

static bool has_blocks(const struct recovery_job *job, uint64_t epoch) {
    return log_walk(job->log, SETS, epoch, NULL, NULL) > 0;
}

/*
 * Let N be the newest complete epoch, or else the recorded epoch, which has no log. N-1 and N-2 must be complete too if
 * they are younger than the record. N+2 must not have begun, because N+1 would have been complete before it.
 */
static int recover_redo(struct recovery_job *job) {
    uint64_t base = job->last.epoch, newest = newest_complete(job);
    uint64_t first = epoch_first(base, newest, 3);
    if (!all_complete(job, first, newest))
        return -EUCLEAN;
    if (has_blocks(job, newest + 2) || has_blocks(job, newest + 3))
        return -EUCLEAN;
    for (uint64_t epoch = first; epoch <= newest; epoch++)
        log_walk(job->log, SETS, epoch, replay_block, job);
    job->epoch = newest;
    return 0;
}

const struct protocol protocol_redo = {
    .name = "redo",
    .id = 4,
    .sets = SETS,
    .log_range = log_range,
    .commit = commit,
    .settled = settled,
    .publish = publish,
    .rollback = rollback,
    .forget = lines_reset,
    .cut = lines_cut,
    .recover = recover_redo,
};
