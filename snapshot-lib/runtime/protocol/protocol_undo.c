/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `undo` and `undo-nv`, as in the Snapshot paper. Every store logs the bytes that it overwrites, in its own size. The
 * commit
 *
 *     rest of the log -> fence -> changed lines -> fence -> commit record -> fence
 *
 * finds the changed lines in a list in DRAM (undo) or by walking the log in persistent memory (undo-nv). The third
 * fence makes the commit durable; the second one only ensures that the record is not durable before the data.
 *
 * A byte may be logged several times, and only its first entry has the content to restore. Entries are therefore
 * numbered over all threads, and recovery undoes them backwards. Entries behind a gap in the numbers are unusable, and
 * not needed: the first fence was not passed, so the file has not changed.
 */
#include "protocols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>

#include "blocks.h"
#include "lines.h"
#include "log/persist.h"
#include "log/records.h"

#define SETS 2u
#define BLOCK_WORDS (BLOCK_LINES_MAX * LINE_WORDS)

/* An entry in a block: offset and number of bytes in one word (0 bytes: no more entries), the entry's number, and the
 * old bytes, padded to whole words. */
#define ENTRY_WORDS 2u
#define ENTRY_BYTES_MAX ((BLOCK_WORDS - ENTRY_WORDS) * 8)
#define ENTRY_PLACE(offset, bytes) ((offset) << 16 | (bytes))

struct entry {
    uint64_t offset;
    uint64_t bytes;
    uint64_t order;
    const uint8_t *old;
};

static uint64_t entry_words(uint64_t bytes) { return ENTRY_WORDS + (bytes + 7) / 8; }

static struct entry entry_at(const uint64_t *words) {
    return (struct entry){words[0] >> 16, words[0] & 0xffff, words[1], (const uint8_t *)(words + ENTRY_WORDS)};
}

static uint64_t order_next(struct region *region) {
    if (!__libc_single_threaded)
        return atomic_fetch_add_explicit(&region->protocol_state.order_next, 1, memory_order_acq_rel);
    uint64_t order = atomic_load_explicit(&region->protocol_state.order_next, memory_order_relaxed);
    atomic_store_explicit(&region->protocol_state.order_next, order + 1, memory_order_relaxed);
    return order;
}

/* Read the old bytes before taking the number: the thread with the lowest number for a byte has then read the byte
 * before any thread stored to it. */
static void entry_add(struct thread_log *thread, uint64_t offset, uint64_t bytes, const uint8_t *old) {
    struct block *block = &thread->block;
    if (thread->block_words + entry_words(bytes) > BLOCK_WORDS)
        thread_block_end(thread);
    if (thread->block_words == 0)
        memset(block->data, 0, sizeof(block->data));
    uint64_t *words = &block->data[0][0] + thread->block_words;
    words[0] = ENTRY_PLACE(offset, bytes);
    memcpy(words + ENTRY_WORDS, old, bytes);
    words[1] = order_next(thread->region);
    thread->block_words += (uint32_t)entry_words(bytes);
    block->header.line_count = (uint16_t)((thread->block_words + LINE_WORDS - 1) / LINE_WORDS);
    thread->change_count++;
}

static void log_range(struct thread_log *thread, uint64_t offset, uint64_t bytes, bool list) {
    while (bytes > 0) {
        uint64_t part = bytes < ENTRY_BYTES_MAX ? bytes : ENTRY_BYTES_MAX;
        entry_add(thread, offset, part, thread->region->working + offset);
        if (list)
            vector_push_word(&thread->changes, ENTRY_PLACE(offset, part));
        offset += part;
        bytes -= part;
    }
}

static void log_range_list(struct thread_log *thread, uint64_t offset, uint64_t bytes) {
    log_range(thread, offset, bytes, true);
}

static void log_range_nv(struct thread_log *thread, uint64_t offset, uint64_t bytes) {
    log_range(thread, offset, bytes, false);
}

/* Called for each line that a log has changed, possibly several times per line. */
typedef void line_visitor(struct thread_log *thread, uint64_t line);

static void visit_lines(struct thread_log *thread, uint64_t offset, uint64_t bytes, line_visitor *visit) {
    for (uint64_t line = offset / LINE_BYTES; line <= (offset + bytes - 1) / LINE_BYTES; line++)
        visit(thread, line);
}

/* Visit the lines that one log has changed. -EUCLEAN: the walk did not find everything that was logged. */
typedef int changes_of(struct thread_log *thread, line_visitor *visit);

static int changes_of_list(struct thread_log *thread, line_visitor *visit) {
    for_each_word (place, &thread->changes)
        visit_lines(thread, place >> 16, place & 0xffff, visit);
    return 0;
}

typedef void entry_visitor(void *context, struct entry entry);

static void block_entries(const struct block *block, entry_visitor *visit, void *context) {
    const uint64_t *words = &block->data[0][0], *end = words + (size_t)block->header.line_count * LINE_WORDS;
    while (words + ENTRY_WORDS < end) {
        struct entry entry = entry_at(words);
        if (entry.bytes == 0 || entry.bytes > ENTRY_BYTES_MAX || words + entry_words(entry.bytes) > end)
            return;
        visit(context, entry);
        words += entry_words(entry.bytes);
    }
}

struct nv_walk {
    struct thread_log *thread;
    line_visitor *visit;
    uint64_t entries;
};

static void visit_entry(void *context, struct entry entry) {
    struct nv_walk *walk = context;
    walk->entries++;
    visit_lines(walk->thread, entry.offset, entry.bytes, walk->visit);
}

static void visit_block(void *context, const struct block *block) { block_entries(block, visit_entry, context); }

static void walk_unwritten(const struct thread_log *thread, struct nv_walk *walk) {
    const struct block *waiting = thread->waiting.items;
    for (size_t i = 0; i < thread->waiting.count; i++)
        visit_block(walk, &waiting[i]);
    visit_block(walk, &thread->block);
}

/* Walk the log's chunks of this epoch in the log file, and its blocks that are not there yet. */
static int changes_of_log(struct thread_log *thread, line_visitor *visit) {
    struct nv_walk walk = {thread, visit, 0};
    for_each_word (chunk, &thread->chunks)
        log_walk_chunk(thread->region->log, chunk, thread->region->epoch, visit_block, &walk);
    walk_unwritten(thread, &walk);
    return walk.entries == thread->change_count ? 0 : -EUCLEAN;
}

/* List each line once; this protocol uses the line states for nothing else. Two threads that do this in parallel may
 * both list, and then both write, a line that both changed. Neither omits a line that no other thread lists. */
static void list_once(struct thread_log *thread, uint64_t line) {
    if (line_is_dirty(thread->region, line))
        return;
    line_set(thread->region, line, LINE_LISTED);
    vector_push_word(&thread->committed, line);
}

static void list_unless_held(struct thread_log *thread, uint64_t line) {
    if (!held_content(thread->region, line))
        list_once(thread, line);
}

static void line_leave(struct thread_log *thread, uint64_t line) {
    (void)thread;
    (void)line;
}

static void lines_unlist(struct thread_log *thread) {
    for_each_word (line, &thread->committed)
        line_set(thread->region, line, LINE_CLEAN);
    thread->committed.count = 0;
}

static void hold_once(struct thread_log *thread, uint64_t line) {
    if (line_is_dirty(thread->region, line))
        return;
    line_set(thread->region, line, LINE_LISTED);
    (void)held_add(thread->region, line);
    vector_push_word(&thread->committed, line);
}

/* Hold the lines that a log lists, or names in the log file, each once. */
static void log_hold(struct thread_log *thread, changes_of *changes) {
    (void)changes(thread, hold_once);
    for_each_word (line, &thread->committed)
        vector_push_word(&thread->held_lines, line);
    lines_unlist(thread);
}

/* Check all logs first: if one does not name all its changes (-EUCLEAN), hold nothing. */
static int logs_hold(struct region *region, changes_of *changes) {
    for_each_thread (thread, region) {
        int status = changes(thread, line_leave);
        if (status < 0)
            return status;
    }
    for_each_thread (thread, region)
        if (thread->held)
            log_hold(thread, changes);
    return 0;
}

/* Log the lines of a held log for the new epoch, as whole lines with the content that the commit wrote. No thread has
 * announced in the new epoch yet, so these entries have the lowest numbers. */
static void carry(struct thread_log *thread) {
    struct region *region = thread->region;
    for_each_word (line, &thread->held_lines) {
        uint64_t offset = line * LINE_BYTES, room = region->bytes - offset;
        uint64_t bytes = room < LINE_BYTES ? room : LINE_BYTES;
        entry_add(thread, offset, bytes, held_content(region, line));
        if (region->protocol == &protocol_undo)
            vector_push_word(&thread->changes, ENTRY_PLACE(offset, bytes));
    }
    thread->held_lines.count = 0;
}

static void cut(struct region *region, uint64_t line_limit) {
    for_each_thread (thread, region) {
        uint64_t *lines = thread->held_lines.items;
        size_t kept = 0;
        for_each_word (line, &thread->held_lines)
            if (line < line_limit)
                lines[kept++] = line;
        thread->held_lines.count = kept;
    }
}

static void record_commit(struct region *region) {
    struct record record = {
        .epoch = region->epoch, .epoch_before = region->epoch_record, .protocol = region->protocol->id};
    record_write(region->log, record);
    region->epoch_record = record.epoch;
    region->stats.log_bytes += sizeof(record);
}

static void changes_forget(struct region *region) {
    for_each_thread (thread, region)
        thread->changes.count = 0;
}

/* A line of a held log is held, whichever other logs name it: its copy is written, so it is not listed here. */
static int list_of_list(struct thread_log *thread) {
    return changes_of_list(thread, thread->region->held.any ? list_unless_held : list_once);
}

static int list_of_log(struct thread_log *thread) {
    return changes_of_log(thread, thread->region->held.any ? list_unless_held : list_once);
}

static int list_write(struct thread_log *thread) {
    for_each_word (line, &thread->committed)
        line_write(thread->region, line, line_working(thread->region, line));
    thread->counts.data_bytes += thread->committed.count * LINE_BYTES;
    thread->counts.lines_logged += thread->committed.count;
    lines_unlist(thread);
    thread->changes.count = 0;
    log_epoch_end(thread);
    return 0;
}

static int list_and_write(struct thread_log *thread) {
    (void)list_of_list(thread);
    return list_write(thread);
}

/* undo-nv: write nothing unless every log names all its changes. */
static int data_write(struct region *region) {
    if (region->protocol == &protocol_undo)
        return region_each_log(region, list_and_write);
    int status = region_each_log(region, list_of_log);
    if (status == 0)
        return region_each_log(region, list_write);
    for_each_thread (thread, region) {
        lines_unlist(thread);
        thread->held_lines.count = 0; /* nothing is carried */
    }
    return status;
}

static void held_write(struct region *region) {
    for_each_held(line, region) line_write(region, line, held_content(region, line));
    region->stats.data_bytes += held_count(region) * LINE_BYTES;
    region->stats.lines_logged += held_count(region);
}

static int commit(struct region *region, changes_of *changes) {
    int status = thread_logs_write(region);
    if (status < 0)
        return status;
    region_fence(region);
    status = region->held.any ? logs_hold(region, changes) : 0;
    if (status == 0)
        status = data_write(region);
    if (status < 0)
        return status;
    held_write(region);
    region_fence(region);
    record_commit(region);
    return 0;
}

static int commit_list(struct region *region, enum commit_mode mode) {
    (void)mode;
    return commit(region, changes_of_list);
}

static int commit_nv(struct region *region, enum commit_mode mode) {
    (void)mode;
    return commit(region, changes_of_log);
}

static void line_take_back(struct thread_log *thread, uint64_t line) { line_restore(thread->region, line); }

static int rollback_list(struct region *region) {
    for_each_thread (thread, region)
        (void)changes_of_list(thread, line_take_back);
    return 0;
}

static int rollback_nv(struct region *region) {
    for_each_thread (thread, region) {
        int status = changes_of_log(thread, line_leave);
        if (status < 0)
            return status;
    }
    for_each_thread (thread, region)
        (void)changes_of_log(thread, line_take_back);
    return 0;
}

static void collect_entry(void *context, struct entry entry) {
    *(struct entry *)vector_place(context, sizeof(entry)) = entry;
    vector_add(context);
}

static void collect_block(void *context, const struct block *block) { block_entries(block, collect_entry, context); }

static int by_order(const void *a, const void *b) {
    const struct entry *one = a, *other = b;
    return (one->order > other->order) - (one->order < other->order);
}

/* The persistence layer takes whole lines, so merge the old bytes into the line's present content. */
static void entry_undo(const struct recovery_job *job, const struct entry *entry) {
    for (uint64_t done = 0; done < entry->bytes;) {
        uint64_t offset = entry->offset + done, in_line = offset % LINE_BYTES;
        uint64_t part = LINE_BYTES - in_line < entry->bytes - done ? LINE_BYTES - in_line : entry->bytes - done;
        if (offset / LINE_BYTES >= job->line_limit)
            return;
        _Alignas(LINE_BYTES) uint8_t line[LINE_BYTES];
        memcpy(line, job->backing + offset - in_line, LINE_BYTES);
        memcpy(line + in_line, entry->old + done, part);
        persist_copy(job->backing + offset - in_line, line, LINE_BYTES);
        done += part;
    }
}

/* Undo the epoch after the last record. Its changes in the file depend on no other epoch. */
static int recover_undo(struct recovery_job *job) {
    struct vector entries = {0};
    log_walk(job->log, SETS, job->last.epoch + 1, collect_block, &entries);
    const struct entry *entry = entries.items;
    if (entries.count > 0)
        qsort(entries.items, entries.count, sizeof(*entry), by_order);
    size_t usable = 0;
    while (usable < entries.count && entry[usable].order == usable)
        usable++;
    for (size_t i = usable; i > 0; i--)
        entry_undo(job, &entry[i - 1]);
    job->epoch = job->last.epoch;
    job->lines_undone = usable;
    vector_free(&entries);
    return 0;
}

const struct protocol protocol_undo = {
    .name = "undo",
    .id = 2,
    .sets = SETS,
    .log_range = log_range_list,
    .commit = commit_list,
    .carry = carry,
    .rollback = rollback_list,
    .forget = changes_forget,
    .cut = cut,
    .recover = recover_undo,
};

const struct protocol protocol_undo_nv = {
    .name = "undo-nv",
    .id = 3,
    .sets = SETS,
    .log_range = log_range_nv,
    .commit = commit_nv,
    .carry = carry,
    .rollback = rollback_nv,
    .forget = changes_forget,
    .cut = cut,
    .recover = recover_undo,
};
