/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints that threads make together. One thread leads: it waits until all other threads that have entered are at a
 * point or idle, commits, and releases them. Threads at a point meanwhile write their lists themselves.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>

#include "base/epochs.h"
#include "base/uncancelled.h"
#include "core/commit.h"
#include "core/regions.h"
#include "log/persist.h"
#include "state.h"

static _Thread_local struct member members_own[REGIONS_MAX];

static struct member *own(const struct region *region) { return &members_own[region - regions]; }

static bool has_entered(const struct region *region) {
    return region->generation && own(region)->generation == region->generation;
}

bool member_is_active(const struct region *region) { return has_entered(region) && !own(region)->idle; }

/* The mutex is held. */
static void member_remove(struct epochs *epochs, struct member *gone) {
    struct member **at = &epochs->members;
    while (*at && *at != gone)
        at = &(*at)->next;
    if (*at)
        *at = gone->next;
    gone->generation = 0;
    pthread_cond_broadcast(&epochs->changed);
}

void epochs_thread_end(void) {
    for (size_t i = 0; i < REGIONS_MAX; i++) {
        if (regions[i].inherited || !has_entered(&regions[i]))
            continue;
        pthread_mutex_lock(&epochs_all[i].mutex);
        member_remove(&epochs_all[i], &members_own[i]);
        pthread_mutex_unlock(&epochs_all[i].mutex);
    }
}

void member_enter(struct region *region) {
    struct epochs *epochs = epochs_of(region);
    struct member *member = own(region);
    if (member_is_active(region))
        return;
    struct thread_log *log = thread_log_get(region);
    pthread_mutex_lock(&epochs->mutex);
    while (epochs->gathering)
        epochs_await(epochs);
    if (!has_entered(region)) {
        *member = (struct member){.generation = region->generation, .log = log, .next = epochs->members};
        epochs->members = member;
    }
    member->idle = false;
    pthread_mutex_unlock(&epochs->mutex);
}

bool epochs_are_at_work(const struct region *region) {
    const struct epochs *epochs = epochs_of(region);
    return epochs_are_kept(region) && (mutex_is_own(&epochs->mutex) || mutex_is_own(&epochs->replaying) ||
                                       (has_entered(region) && own(region)->parked));
}

static void member_idles(struct region *region) {
    struct epochs *epochs = epochs_of(region);
    thread_leaves();
    pthread_mutex_lock(&epochs->mutex);
    own(region)->idle = true;
    pthread_cond_broadcast(&epochs->changed);
    pthread_mutex_unlock(&epochs->mutex);
}

void epochs_wait(void) {
    for (size_t i = 0; i < REGIONS_MAX; i++)
        if (!regions[i].inherited && member_is_active(&regions[i]))
            member_idles(&regions[i]);
}

/* Wait at a point until the gathering thread is done, and write the own list if asked to. The mutex is held. */
static int park(struct epochs *epochs, struct member *member) {
    uint64_t round = epochs->rounds;
    thread_leaves();
    member->parked = true;
    pthread_cond_broadcast(&epochs->changed);
    while (epochs->rounds == round) {
        if (!member->writes) {
            epochs_await(epochs);
            continue;
        }
        pthread_mutex_unlock(&epochs->mutex);
        epoch_list_write(member->log);
        persist_fence();
        member->log->counts.fences++;
        pthread_mutex_lock(&epochs->mutex);
        member->writes = false;
        epochs->writers--;
        pthread_cond_broadcast(&epochs->changed);
    }
    return epochs->round_status;
}

static bool all_wait(const struct epochs *epochs, const struct member *leader) {
    for (const struct member *member = epochs->members; member; member = member->next)
        if (member != leader && !member->parked && !member->idle)
            return false;
    return true;
}

/* The clock may be the caller's, so the thread reads it at least every millisecond. */
static void wait_a_little(struct epochs *epochs) {
    const long slice_ns = 1000000, ns_per_s = 1000000000;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += slice_ns;
    until.tv_sec += until.tv_nsec / ns_per_s;
    until.tv_nsec %= ns_per_s;
    UNCANCELLED;
    (void)pthread_cond_timedwait(&epochs->changed, &epochs->mutex, &until);
}

/* Wait until all other members are parked or idle. The mutex is held. */
static int gather(struct epochs *epochs, const struct member *leader) {
    uint64_t begin_ns = epochs_now(epochs);
    while (!all_wait(epochs, leader)) {
        if (epochs_now(epochs) - begin_ns >= epochs->options.timeout_ns) {
            epochs->stats.timeouts++;
            return -ETIMEDOUT;
        }
        wait_a_little(epochs);
    }
    return 0;
}

static void release(struct epochs *epochs, int status) {
    for (struct member *member = epochs->members; member; member = member->next)
        member->parked = false;
    epochs->round_status = status;
    epochs->rounds++;
    epochs->gathering = false;
    pthread_cond_broadcast(&epochs->changed);
}

static struct member *parked_owner(const struct epochs *epochs, const struct thread_log *log) {
    for (struct member *member = epochs->members; member; member = member->next)
        if (member->parked && member->log == log)
            return member;
    return NULL;
}

/* Hand a parked member its list. The leader writes the lists of all others. */
static bool hand_out(struct epochs *epochs, const struct thread_log *log) {
    struct member *owner = parked_owner(epochs, log);
    if (!owner || log->changes.count == 0)
        return false;
    owner->writes = true;
    epochs->writers++;
    return true;
}

static bool is_handed_out(struct epochs *epochs, const struct thread_log *log) {
    pthread_mutex_lock(&epochs->mutex);
    const struct member *owner = parked_owner(epochs, log);
    pthread_mutex_unlock(&epochs->mutex);
    return owner;
}

void lists_write(struct region *region) {
    struct epochs *epochs = epochs_of(region);
    pthread_mutex_lock(&epochs->mutex);
    for_each_thread (thread, region) {
        epochs->stats.lists_written += thread->changes.count > 0;
        (void)hand_out(epochs, thread);
    }
    pthread_cond_broadcast(&epochs->changed);
    pthread_mutex_unlock(&epochs->mutex);
    for_each_thread (thread, region)
        if (!is_handed_out(epochs, thread))
            epoch_list_write(thread);
    pthread_mutex_lock(&epochs->mutex);
    while (epochs->writers > 0)
        epochs_await(epochs);
    pthread_mutex_unlock(&epochs->mutex);
}

static int commit_durably(struct region *region, struct epochs *epochs) {
    contents_share(region);
    region_enter(region);
    int status = region_commit_locked(region, COMMIT_DURABLE);
    if (status == 0)
        replay_allow(epochs, region->epoch - 1);
    region_leave(region);
    contents_release(region);
    return status;
}

/* Called without the mutex, while all other members are parked or idle. */
static int lead(struct region *region, struct epochs *epochs) {
    uint64_t begin_ns = epochs_now(epochs);
    int status = commit_durably(region, epochs);
    uint64_t now_ns = epochs_now(epochs), took_ns = now_ns - begin_ns;
    pthread_mutex_lock(&epochs->mutex);
    epochs->stats.stop_ns += took_ns;
    if (took_ns > epochs->stats.stop_ns_max)
        epochs->stats.stop_ns_max = took_ns;
    if (epochs->options.period_ns != SNAPSHOT_EPOCHS_BY_CALL)
        atomic_store(&epochs->due_ns, now_ns + epochs->options.period_ns);
    pthread_mutex_unlock(&epochs->mutex);
    return status;
}

/* A checkpoint contains the stores of all members that wait for it. So a member that asks for one meanwhile takes
 * part in it instead of making another. A thread that is no member waits, and then makes a checkpoint itself. */
int epochs_commit(struct region *region) {
    struct epochs *epochs = epochs_of(region);
    struct member *member = member_is_active(region) ? own(region) : NULL;
    pthread_mutex_lock(&epochs->mutex);
    while (epochs->gathering && !member)
        epochs_await(epochs);
    if (epochs->gathering) {
        int status = park(epochs, member);
        pthread_mutex_unlock(&epochs->mutex);
        return status;
    }
    epochs->gathering = true;
    int status = gather(epochs, member);
    if (status == 0) {
        pthread_mutex_unlock(&epochs->mutex);
        status = lead(region, epochs);
        pthread_mutex_lock(&epochs->mutex);
    }
    release(epochs, status);
    pthread_mutex_unlock(&epochs->mutex);
    return status;
}

int epochs_rollback(struct region *region) {
    struct epochs *epochs = epochs_of(region);
    pthread_mutex_lock(&epochs->mutex);
    bool is_alone = !epochs->gathering && all_wait(epochs, own(region));
    if (is_alone)
        epochs->gathering = true; /* no thread enters meanwhile */
    pthread_mutex_unlock(&epochs->mutex);
    if (!is_alone)
        return -EBUSY;
    int status = region_rollback(region);
    pthread_mutex_lock(&epochs->mutex);
    epochs->gathering = false;
    pthread_cond_broadcast(&epochs->changed);
    pthread_mutex_unlock(&epochs->mutex);
    return status;
}

static bool is_due(const struct epochs *epochs) {
    uint64_t due_ns = atomic_load_explicit(&epochs->due_ns, memory_order_acquire);
    return due_ns != SNAPSHOT_EPOCHS_BY_CALL && epochs_now(epochs) >= due_ns;
}

static int point(struct region *region) {
    struct epochs *epochs = epochs_of(region);
    if (!member_is_active(region) || (!atomic_load(&epochs->gathering) && !is_due(epochs)))
        return 0;
    if (is_due(epochs))
        return epochs_commit(region);
    pthread_mutex_lock(&epochs->mutex);
    if (epochs->gathering)
        (void)park(epochs, own(region));
    pthread_mutex_unlock(&epochs->mutex);
    return 0;
}

int snapshot_epoch_enter(void *address) {
    int status;
    struct region *region = epochs_region(address, &status);
    if (region)
        member_enter(region);
    return status;
}

int snapshot_epoch_leave(void *address) {
    int status;
    struct region *region = epochs_region(address, &status);
    if (!region || !has_entered(region))
        return status;
    thread_leaves();
    pthread_mutex_lock(&epochs_of(region)->mutex);
    member_remove(epochs_of(region), own(region));
    pthread_mutex_unlock(&epochs_of(region)->mutex);
    return 0;
}

int snapshot_epoch_point(void *address) {
    int status;
    struct region *region = epochs_region(address, &status);
    return region ? point(region) : status;
}

int snapshot_epoch_idle(void *address, bool idle) {
    int status;
    struct region *region = epochs_region(address, &status);
    if (!region)
        return status;
    if (!idle) {
        member_enter(region);
        return 0;
    }
    status = point(region);
    if (!has_entered(region))
        return status;
    member_idles(region);
    return status;
}
