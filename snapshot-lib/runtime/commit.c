/* SPDX-License-Identifier: BSD-3-Clause */
/* What all protocols have in common of committing, rolling back and closing. */
#include "persist.h"
#include "protocol.h"
#include "seeded_bug.h"

#include <sys/single_threaded.h>

void region_fence(struct region *region) {
    persist_fence();
    region->stats.fences++;
    region->unsettled = false;
}

void region_settle(struct region *region) {
    if (!region->unsettled)
        return;
    if (SEEDED_BUG(NO_COMMIT_FENCE))
        region->unsettled = false;
    else
        region_fence(region);
    if (region->protocol->settled && __libc_single_threaded)
        region->protocol->settled(region);
}

static bool has_changes(struct region *region) {
    for_each_thread (thread, region)
        if (thread->change_count > 0)
            return true;
    return false;
}

/* The next epoch starts at its first chunk. */
static void epoch_begin(struct region *region) {
    for_each_thread (thread, region) {
        region->stats.log_bytes += thread->log_bytes;
        region->stats.fences += thread->fences;
        thread->log_bytes = 0;
        thread->fences = 0;
        thread->change_count = 0;
        thread->chunk = NULL;
    }
    atomic_store(&region->chunk_next, 0);
    atomic_store(&region->order_next, 0);
    region->epoch++;
}

static int commit_locked(struct region *region, enum commit_mode mode) {
    if (has_changes(region)) {
        int status = region->protocol->commit(region, mode);
        if (status < 0)
            return status;
        region->stats.commits++;
        region->unsettled = true;
        epoch_begin(region);
    }
    /* Only the thread that wrote can wait for it, and the next to commit may be another. */
    if (mode == COMMIT_DURABLE || !__libc_single_threaded)
        region_settle(region);
    return 0;
}

int region_commit(struct region *region, enum commit_mode mode) {
    pthread_mutex_lock(&region->mutex);
    int status = commit_locked(region, mode);
    pthread_mutex_unlock(&region->mutex);
    return status;
}

void region_rollback(struct region *region) {
    pthread_mutex_lock(&region->mutex);
    region->protocol->rollback(region);
    pthread_mutex_unlock(&region->mutex);
}

static void publish_locked(struct region *region) {
    region_settle(region);
    if (region->protocol->publish)
        region->protocol->publish(region);
}

void region_publish(struct region *region) {
    pthread_mutex_lock(&region->mutex);
    publish_locked(region);
    pthread_mutex_unlock(&region->mutex);
}

void region_detach(struct region *region) {
    const struct protocol *protocol = region->protocol;
    pthread_mutex_lock(&region->mutex);
    publish_locked(region);
    protocol->rollback(region);
    protocol->forget(region);
    uint64_t used = epoch_used_max(region->epoch);
    region->epoch_record = region->epoch = record_retire(region->log, protocol->id, region->epoch_record, used);
    region_fence(region);
    thread_logs_forget(region);
    epoch_begin(region);
    pthread_mutex_unlock(&region->mutex);
}
