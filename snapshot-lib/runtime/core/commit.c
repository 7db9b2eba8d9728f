/* SPDX-License-Identifier: BSD-3-Clause */
/* The common part of all protocols in commits, rollbacks and closing. */
#include "commit.h"

#include <string.h>
#include <sys/single_threaded.h>

#include "backing.h"
#include "base/tracker.h"
#include "check.h"
#include "group.h"
#include "log/persist.h"
#include "log/records.h"
#include "protocol/blocks.h"
#include "protocol/held.h"

/*
 * A fence waits only for the writes of its own thread. A program's only thread leaves some writes to the fence of its
 * next commit. If the program has more threads by then, another one may commit, so a fence of all threads comes first.
 */
static void enter_locked(struct region *region, bool joins) {
    atomic_store_explicit(&region->busy, true, memory_order_relaxed);
    region->held.any = !__libc_single_threaded && announcements_stop(region, joins);
    if (!region->lone_writes || __libc_single_threaded)
        return;
    persist_fence_all();
    region->stats.fences++;
    region->lone_writes = false;
}

void region_enter(struct region *region) {
    pthread_mutex_lock(&region->mutex);
    enter_locked(region, false);
}

static void resume(struct region *region) {
    if (!atomic_load_explicit(&region->collecting, memory_order_relaxed))
        return; /* announcements did not stop, so no log is held */
    held_clear(region);
    announcements_resume(region);
}

static void leave_locked(struct region *region) {
    atomic_store_explicit(&region->busy, false, memory_order_relaxed);
    region_unlock(region);
}

void region_leave(struct region *region) {
    resume(region);
    leave_locked(region);
}

void region_fence(struct region *region) {
    persist_fence();
    region->stats.fences++;
    region->unsettled = false;
}

void region_settle(struct region *region) {
    if (!region->unsettled)
        return;
    region_fence(region);
    if (!region->protocol->settled || !__libc_single_threaded)
        return;
    region->protocol->settled(region);
    region->lone_writes = true;
}

/* True if there are changes since the last commit. The mutex is held, or the program orders the call against stores. */
bool region_has_changes(struct region *region) {
    for_each_thread (thread, region)
        if (thread->change_count > 0)
            return true;
    return false;
}

/* The next epoch starts at its first chunk. */
static void epoch_begin(struct region *region) {
    protocol_state_next_epoch(&region->protocol_state);
    region->epoch++;
}

/* Called after the fence of the commit: a crash before that fence must find nothing of the new epoch. */
void region_carry(struct region *region) {
    for_each_thread (thread, region)
        if (thread->held && region->protocol->carry)
            region->protocol->carry(thread);
        else if (thread->held)
            thread->change_count = thread->changes.count;
}

static int commit(struct region *region, enum commit_mode mode) {
    if (region_has_changes(region)) {
        int status = region->protocol->commit(region, mode);
        if (status < 0)
            return status;
        region->stats.commits++;
        region->unsettled = true;
        epoch_begin(region);
    }
    /* Only the thread that wrote can wait for its writes, and the next commit may be made by another thread. */
    if (mode == COMMIT_DURABLE || !__libc_single_threaded)
        region_settle(region);
    else
        region->lone_writes = true;
    return 0;
}

static bool is_zero(const uint8_t *bytes, uint64_t count) {
    while (count > 0 && bytes[count - 1] == 0)
        count--;
    return count == 0;
}

/* Bytes behind the end of the file are not kept. They must be zero, because the line with the end is written whole. */
static void tail_clear(struct region *region) {
    const uint8_t *tail = region->working + region->bytes;
    if (!tracker_sees_own_stores(region) || !is_zero(tail, -region->bytes % LINE_BYTES))
        memset(region->working + region->bytes, 0, -region->bytes % LINE_BYTES);
}

/* Every commit passes here: the steps that come before it with each protocol. After success the caller calls
 * region_carry(). */
int region_commit_uncarried(struct region *region, enum commit_mode mode) {
    tail_clear(region);
    int status = tracker_collect(region);
    if (status < 0)
        return status;
    status = pages_back(region);
    if (status < 0)
        return status;
    if (region->shadow)
        check_commit(region);
    status = commit(region, mode);
    if (status == 0 && region->shadow) {
        check_committed(region);
        for_each_held(line, region) check_announce(region, line * LINE_BYTES, 1);
    }
    return status;
}

int region_commit_locked(struct region *region, enum commit_mode mode) {
    int status = region_commit_uncarried(region, mode);
    if (status == 0)
        region_carry(region);
    return status;
}

/* Called with the mutex held. */
static int lead(struct region *region, struct thread_log *own, enum commit_mode mode) {
    if (!__libc_single_threaded)
        group_gather(region, own);
    enter_locked(region, true);
    int status = region_commit_locked(region, mode);
    resume(region);
    if (!__libc_single_threaded)
        group_release(region, own, status);
    leave_locked(region);
    return status;
}

/* A thread that has not stored to the file takes no part in a group. */
int region_commit(struct region *region, enum commit_mode mode) {
    struct thread_log *own = __libc_single_threaded ? NULL : thread_log_own(region);
    int status = 0;
    if (!own)
        pthread_mutex_lock(&region->mutex);
    else if (group_await(own, &status))
        return status;
    return lead(region, own, mode);
}

int region_rollback(struct region *region) {
    region_enter(region);
    int status = tracker_collect(region);
    if (status == 0)
        status = region->protocol->rollback(region);
    if (status == 0)
        (void)tracker_forget(region, 0, region->mapped_bytes); /* after a failure pages count as changed */
    region_leave(region);
    return status;
}

static int publish_collected(struct region *region) {
    region_settle(region);
    return region->protocol->publish ? region->protocol->publish(region) : 0;
}

/* Collects first: the lines that changed since their commit determine which lines are published, and from where. */
static int publish_locked(struct region *region) {
    int status = tracker_collect(region);
    return status < 0 ? status : publish_collected(region);
}

int region_publish(struct region *region) {
    region_enter(region);
    int status = publish_locked(region);
    region_leave(region);
    return status;
}

/*
 * Called right after a commit, before a cut, or after a rollback. Stores that threads make meanwhile stay, and held
 * logs have yet to be carried. Changed pages are not collected here: the lists are emptied, and the next commit must
 * find the stores that threads made since.
 */
int region_retire_locked(struct region *region) {
    const struct protocol *protocol = region->protocol;
    int status = publish_collected(region);
    if (status < 0)
        return status;
    protocol->forget(region);
    uint64_t used = epoch_used_max(region->epoch);
    region->epoch_record = region->epoch = record_retire(region->log, protocol->id, region->epoch_record, used);
    region_fence(region);
    thread_logs_forget(region);
    for_each_thread (thread, region)
        log_epoch_end(thread);
    epoch_begin(region);
    return 0;
}

/* Called when no thread uses the file any more. */
int region_detach(struct region *region) {
    region_enter(region);
    for_each_thread (thread, region)
        thread->held = false;
    int status = publish_locked(region);
    if (status == 0)
        status = region->protocol->rollback(region);
    if (status == 0) {
        (void)tracker_watch(region, 0, region->mapped_bytes);
        status = region_retire_locked(region);
    }
    region_leave(region);
    return status;
}
