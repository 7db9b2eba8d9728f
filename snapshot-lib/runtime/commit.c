/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The atomic commit, with two fences:
 *
 *     log blocks -> fence -> changed lines and the commit record -> fence
 *
 * Before the first fence nothing in the file has changed, after it all of it can be undone. Data and commit record may
 * become durable in any order: the record carries a hash of the new data, and recovery believes it only if the file
 * has just that. So the usual third fence, between data and record, is not needed.
 */
#include "internal.h"

#include <errno.h>
#include <string.h>

#include "hash.h"
#include "persist.h"

void write_commit_record(struct log_view log, uint64_t epoch, uint64_t line_count, uint64_t data_hash) {
    _Alignas(LINE_BYTES) struct commit_record record = {
        .epoch = epoch, .line_count = line_count, .data_hash = data_hash};
    record.checksum = self_checksum(&record);
    persist_copy(log.base + log_record_offset(epoch), &record, sizeof(record));
}

static int logs_finish(struct region *region, uint64_t *line_count) {
    for (struct thread_log *thread = atomic_load(&region->threads); thread; thread = thread->next) {
        int status = thread_log_finish(thread);
        if (status < 0)
            return status;
        *line_count += thread->dirty_count;
    }
    return 0;
}

static uint64_t data_write(struct region *region) {
    uint64_t hash = 0;
    for (struct thread_log *thread = atomic_load(&region->threads); thread; thread = thread->next)
        for (size_t i = 0; i < thread->dirty_count; i++) {
            uint64_t offset = (uint64_t)thread->dirty[i] * LINE_BYTES;
            persist_copy(region->backing + offset, region->working + offset, LINE_BYTES);
            hash += line_hash(thread->dirty[i], (const uint64_t *)(region->working + offset));
        }
    return hash;
}

static uint64_t dirty_line_count(struct region *region) {
    uint64_t count = 0;
    for (struct thread_log *thread = atomic_load(&region->threads); thread; thread = thread->next)
        count += thread->dirty_count;
    return count;
}

static void stats_add_commit(struct region *region, uint64_t line_count) {
    region->stats.commits++;
    region->stats.lines_logged += line_count;
    region->stats.log_bytes += sizeof(struct commit_record);
    for (struct thread_log *thread = atomic_load(&region->threads); thread; thread = thread->next)
        region->stats.log_bytes += thread->log_bytes;
    region->stats.data_bytes += line_count * LINE_BYTES;
    region->stats.fences += 2;
}

static int commit_locked(struct region *region) {
    if (dirty_line_count(region) == 0)
        return 0;
    uint64_t line_count = 0;
    int status = logs_finish(region, &line_count);
    if (status < 0)
        return status;
#ifndef SNAPSHOT_SEEDED_BUG_NO_LOG_FENCE
    persist_fence();
#endif
    uint64_t hash = data_write(region);
    write_commit_record(region->log, region->epoch, line_count, hash);
#ifndef SNAPSHOT_SEEDED_BUG_NO_COMMIT_FENCE
    persist_fence();
#endif
    region->epoch++;
    stats_add_commit(region, line_count);
    thread_logs_reset(region);
    return 0;
}

int region_commit(struct region *region, enum commit_mode mode) {
    (void)mode; /* every commit is durable */
    pthread_mutex_lock(&region->mutex);
    int status = commit_locked(region);
    pthread_mutex_unlock(&region->mutex);
    return status;
}

/*
 * Make the log assert nothing about the file, by an empty commit: the file can then be cut, renamed, closed or copied
 * without it. What is not committed is forgotten. Commits may follow.
 */
void region_detach(struct region *region) {
    pthread_mutex_lock(&region->mutex);
    write_commit_record(region->log, region->epoch, 0, 0);
    persist_fence();
    region->epoch++;
    thread_logs_reset(region);
    pthread_mutex_unlock(&region->mutex);
}

/* The lines stay logged: the next commit writes them again, unchanged, and the log keeps one entry for each. */
void region_rollback(struct region *region) {
    pthread_mutex_lock(&region->mutex);
    for (struct thread_log *thread = atomic_load(&region->threads); thread; thread = thread->next)
        for (size_t i = 0; i < thread->dirty_count; i++) {
            uint64_t offset = (uint64_t)thread->dirty[i] * LINE_BYTES;
            memcpy(region->working + offset, region->backing + offset, LINE_BYTES);
        }
    pthread_mutex_unlock(&region->mutex);
}
