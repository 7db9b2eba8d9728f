/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replay: committed content goes from the log to the file, one epoch after another. A thread of the library does it, or
 * the thread that needs it done. Replays never read the working copy, which the program is changing.
 */
#include <errno.h>
#include <signal.h>

#include "base/uncancelled.h"
#include "log/persist.h"
#include "protocol/blocks.h"
#include "protocol/lines.h"
#include "state.h"

/* The limit of epochs that are in the log alone, including the epoch that is being written. */
#define EPOCHS_IN_LOG 3u

struct replay {
    const struct region *region;
    const struct epoch_log *log;
    uint64_t lines; /* within the file */
};

static void block_count(void *context, const struct block *block) {
    struct replay *replay = context;
    for (uint32_t i = 0; i < block->header.line_count; i++)
        replay->lines +=
            block->header.epoch_lines == replay->log->lines && block->header.lines[i] < replay->log->line_limit;
}

static void block_replay(void *context, const struct block *block) {
    const struct replay *replay = context;
    for (uint32_t i = 0; i < block->header.line_count; i++) {
        uint64_t line = block->header.lines[i];
        persist_copy(line_backing(replay->region, line), block->data[i], LINE_BYTES);
    }
}

/* Replay the whole epoch, or return -EUCLEAN and replay nothing. */
static int epoch_replay(const struct region *region, const struct epoch_log *log, uint64_t epoch) {
    struct replay replay = {.region = region, .log = log};
    struct log_view view = {.base = region->log.base, .bytes = log->log_bytes};
    log_walk(view, EPOCH_SETS, epoch, block_count, &replay);
    if (replay.lines != log->lines)
        return -EUCLEAN;
    log_walk(view, EPOCH_SETS, epoch, block_replay, &replay);
    persist_fence();
    return 0;
}

static bool is_behind(const struct epochs *epochs) {
    return epochs->replay_status == 0 && epochs->replayed < epochs->durable;
}

/* The next epoch to replay. The mutex is held. */
static uint64_t epoch_next(const struct epochs *epochs) { return epochs->replayed + 1; }

static void replayed(struct epochs *epochs, uint64_t epoch, uint64_t lines, uint64_t begin_ns) {
    epochs->replayed = epoch;
    epochs->replay_fences++;
    epochs->replay_lines += lines;
    epochs->stats.replayed_epochs++;
    epochs->stats.replayed_lines += lines;
    epochs->stats.replay_ns += epochs_now(epochs) - begin_ns;
}

/* Replay the oldest epoch that the file lacks, if a durable one exists. */
static void replay_one(struct epochs *epochs) {
    pthread_mutex_lock(&epochs->replaying);
    pthread_mutex_lock(&epochs->mutex);
    if (is_behind(epochs)) {
        uint64_t epoch = epoch_next(epochs), begin_ns = epochs_now(epochs);
        struct epoch_log log = epochs->logs[epoch % EPOCH_SETS];
        pthread_mutex_unlock(&epochs->mutex);
        int status = epoch_replay(epochs->region, &log, epoch);
        pthread_mutex_lock(&epochs->mutex);
        if (status < 0)
            epochs->replay_status = status;
        else
            replayed(epochs, epoch, log.lines, begin_ns);
        pthread_cond_broadcast(&epochs->changed);
    }
    pthread_mutex_unlock(&epochs->mutex);
    pthread_mutex_unlock(&epochs->replaying);
}

static void *replayer(void *argument) {
    struct epochs *epochs = argument;
    pthread_mutex_lock(&epochs->mutex);
    while (!epochs->replayer_ends) {
        if (!is_behind(epochs)) {
            epochs_await(epochs);
            continue;
        }
        pthread_mutex_unlock(&epochs->mutex);
        replay_one(epochs);
        pthread_mutex_lock(&epochs->mutex);
    }
    pthread_mutex_unlock(&epochs->mutex);
    return NULL;
}

/* The thread takes no signals: they are for the threads of the program. */
int replayer_start(struct epochs *epochs) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    epochs->replayer_ends = false;
    int error = pthread_create(&epochs->replayer, NULL, replayer, epochs);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    epochs->has_replayer = error == 0;
    return -error;
}

void replayer_end(struct epochs *epochs) {
    pthread_mutex_lock(&epochs->mutex);
    bool has_one = epochs->has_replayer;
    epochs->replayer_ends = true;
    epochs->has_replayer = false;
    pthread_cond_broadcast(&epochs->changed);
    pthread_mutex_unlock(&epochs->mutex);
    UNCANCELLED;
    if (has_one)
        pthread_join(epochs->replayer, NULL);
}

/* No crash can undo epochs up to `durable`, so they may be replayed. Epoch numbers that a record has retired have no
 * log and count as replayed. */
void replay_allow(struct epochs *epochs, uint64_t durable) {
    pthread_mutex_lock(&epochs->mutex);
    uint64_t record = epochs->region->epoch_record;
    if (epochs->replayed < record)
        epochs->replayed = epochs->durable = record;
    if (epochs->durable < durable)
        epochs->durable = durable;
    pthread_cond_broadcast(&epochs->changed);
    pthread_mutex_unlock(&epochs->mutex);
}

/* Replay all durable epochs up to this one, or wait until the thread has. */
static int replay_until(struct epochs *epochs, uint64_t epoch) {
    pthread_mutex_lock(&epochs->mutex);
    while (epochs->replayed < epoch && is_behind(epochs)) {
        if (epochs->has_replayer) {
            epochs_await(epochs);
            continue;
        }
        pthread_mutex_unlock(&epochs->mutex);
        replay_one(epochs);
        pthread_mutex_lock(&epochs->mutex);
    }
    int status = epochs->replay_status;
    pthread_mutex_unlock(&epochs->mutex);
    return status;
}

int replay_all(struct epochs *epochs) { return replay_until(epochs, UINT64_MAX); }

/* Called before the log of `epoch` begins: the file must contain all epochs that recovery no longer replays then. */
int replay_make_room(struct epochs *epochs, uint64_t epoch) {
    if (epoch <= EPOCHS_IN_LOG)
        return 0;
    pthread_mutex_lock(&epochs->mutex);
    epochs->stats.waits_for_room += epochs->replayed < epoch - EPOCHS_IN_LOG && is_behind(epochs);
    pthread_mutex_unlock(&epochs->mutex);
    return replay_until(epochs, epoch - EPOCHS_IN_LOG);
}
