/* SPDX-License-Identifier: BSD-3-Clause */
/* Epochs of a file: they begin with its mapping, and the program sets their options. */
#include "base/epochs.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/uncancelled.h"
#include "core/commit.h"
#include "core/regions.h"
#include "protocol/protocols.h"
#include "state.h"

struct epochs epochs_all[REGIONS_MAX];

static uint64_t monotonic_ns(void) {
    const uint64_t ns_per_s = 1000000000;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * ns_per_s + (uint64_t)now.tv_nsec;
}

static const struct snapshot_epochs by_call = {
    .period_ns = SNAPSHOT_EPOCHS_BY_CALL, .timeout_ns = 1000000000, .now_ns = monotonic_ns};

uint64_t epochs_now(const struct epochs *epochs) { return epochs->options.now_ns(); }

/* Stores wait here, too, and no store is a cancellation point. */
void epochs_await(struct epochs *epochs) {
    UNCANCELLED;
    pthread_cond_wait(&epochs->changed, &epochs->mutex);
}

bool epochs_are_kept(const struct region *region) { return region->protocol == &protocol_epoch; }

/* The file at an address, if it has epochs. Otherwise NULL, with the reason in `status`. */
struct region *epochs_region(const void *address, int *status) {
    struct region *region = region_find(address);
    *status = !region ? -EINVAL : !epochs_are_kept(region) ? -EOPNOTSUPP : region->inherited ? -EPERM : 0;
    return *status == 0 ? region : NULL;
}

void epochs_open(struct region *region) {
    struct epochs *epochs = epochs_of(region);
    if (!epochs_are_kept(region))
        return;
    memset(epochs, 0, sizeof(*epochs));
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&epochs->mutex, NULL);
    pthread_mutex_init(&epochs->replaying, NULL);
    pthread_cond_init(&epochs->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    epochs->region = region;
    epochs->options = by_call;
    atomic_store(&epochs->due_ns, SNAPSHOT_EPOCHS_BY_CALL);
    epochs->durable = epochs->replayed = region->epoch_record;
}

/* Another thread of the parent may have held the locks at the fork, for as long as a clock of the program takes. */
void epochs_inherit(struct region *region) {
    if (!epochs_are_kept(region))
        return;
    struct epochs *epochs = epochs_of(region);
    pthread_mutex_init(&epochs->mutex, NULL);
    pthread_mutex_init(&epochs->replaying, NULL);
    pthread_cond_init(&epochs->changed, NULL);
    epochs->has_replayer = false;
    epochs->members = NULL;
    epochs_release(region);
}

static void stop(struct epochs *epochs) {
    replayer_end(epochs);
    pthread_mutex_lock(&epochs->mutex);
    epochs->started = false;
    epochs->options.period_ns = by_call.period_ns;
    epochs->options.timeout_ns = by_call.timeout_ns;
    epochs->options.flags = 0;
    atomic_store(&epochs->due_ns, SNAPSHOT_EPOCHS_BY_CALL);
    pthread_mutex_unlock(&epochs->mutex);
}

void epochs_close(struct region *region) {
    if (epochs_are_kept(region) && !region->inherited)
        stop(epochs_of(region));
}

void epochs_pause(struct region *region) {
    if (epochs_are_kept(region))
        pthread_mutex_lock(&epochs_of(region)->replaying);
}

void epochs_resume(struct region *region) {
    if (epochs_are_kept(region))
        pthread_mutex_unlock(&epochs_of(region)->replaying);
}

void epochs_count(const struct region *region, struct snapshot_stats *stats) {
    struct epochs *epochs = epochs_of(region);
    if (!epochs_are_kept(region))
        return;
    pthread_mutex_lock(&epochs->mutex);
    stats->fences += epochs->replay_fences;
    stats->data_bytes += epochs->replay_lines * LINE_BYTES;
    pthread_mutex_unlock(&epochs->mutex);
}

static int start(struct epochs *epochs, const struct snapshot_epochs *options) {
    pthread_mutex_lock(&epochs->mutex);
    bool was_started = epochs->started;
    if (!was_started) {
        epochs->started = true;
        epochs->options = *options;
        if (!options->now_ns)
            epochs->options.now_ns = monotonic_ns;
        if (options->period_ns != SNAPSHOT_EPOCHS_BY_CALL)
            atomic_store(&epochs->due_ns, epochs_now(epochs) + options->period_ns);
    }
    pthread_mutex_unlock(&epochs->mutex);
    if (was_started)
        return -EALREADY;
    int status = options->flags & SNAPSHOT_REPLAY_BACKGROUND ? replayer_start(epochs) : 0;
    if (status < 0)
        stop(epochs);
    return status;
}

int snapshot_epochs_start(void *address, const struct snapshot_epochs *options) {
    int status;
    struct region *region = epochs_region(address, &status);
    if (!region)
        return status;
    if (!options || options->period_ns == 0 || options->timeout_ns == 0 || options->flags & ~SNAPSHOT_REPLAY_BACKGROUND)
        return -EINVAL;
    return start(epochs_of(region), options);
}

int snapshot_epochs_stop(void *address) {
    int status;
    struct region *region = epochs_region(address, &status);
    if (region)
        stop(epochs_of(region));
    return status;
}

int snapshot_epochs_replay(void *address) {
    int status;
    struct region *region = epochs_region(address, &status);
    return region ? replay_all(epochs_of(region)) : status;
}

int snapshot_epochs_get_stats(const void *address, struct snapshot_epochs_stats *stats) {
    const struct region *region = region_find(address);
    int status = !region ? -EINVAL : epochs_are_kept(region) ? 0 : -EOPNOTSUPP;
    if (status < 0)
        return status;
    struct epochs *epochs = epochs_of(region); /* in a forked child: as they were at the fork */
    pthread_mutex_lock(&epochs->mutex);
    *stats = epochs->stats;
    stats->epoch_durable = epochs->durable;
    stats->epoch_replayed = epochs->replayed;
    stats->pages_in = pages_brought(region);
    pthread_mutex_unlock(&epochs->mutex);
    return 0;
}
