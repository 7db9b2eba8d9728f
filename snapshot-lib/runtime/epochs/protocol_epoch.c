/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `epoch`: the log of `redo`, but many threads write it, and replays read it.
 *
 * The first store to a line in an epoch puts the line on the thread's list. A checkpoint stops all threads. Each of
 * them writes its list to separate chunks and fences. Each block states how many lines all lists have together, so the
 * blocks are their own commit record: if one of the lists is missing, no list counts. Then the threads continue, and
 * the log is replayed to the file.
 *
 * Crash consistency. Recovery is the same as with `redo`: it replays the newest complete epoch N and the two
 * before it, and loses the part of N-3 that the file lacks. So N begins only after N-3 is in the file, durably, and
 * only durable epochs are replayed. N takes the chunks of N-4.
 */
#include <errno.h>
#include <string.h>

#include "log/log_file.h"
#include "protocol/lines.h"
#include "protocol/lists.h"
#include "protocol/protocols.h"
#include "state.h"

/* A thread that stores has entered. */
static void enter(struct region *region) {
    if (!member_is_active(region))
        member_enter(region);
}

static void log_range(struct thread_log *thread, uint64_t offset, uint64_t bytes) {
    lines_mark(thread, offset, bytes, NULL);
}

void epoch_list_write(struct thread_log *thread) { list_write(thread, EPOCH_SETS); }

static int commit(struct region *region, enum commit_mode mode) {
    (void)mode;
    struct epochs *epochs = epochs_of(region);
    region_settle(region);
    replay_allow(epochs, region->epoch - 1);
    int status = replay_make_room(epochs, region->epoch);
    if (status < 0)
        return status;
    uint64_t lines = lines_gather(region), chunks = lists_assign(region, lines);
    status = log_file_grow(region, EPOCH_SETS * chunks);
    if (status < 0) {
        lines_keep(region);
        return status;
    }
    uint64_t line_limit = (region->bytes + LINE_BYTES - 1) / LINE_BYTES;
    pthread_mutex_lock(&epochs->mutex);
    epochs->logs[region->epoch % EPOCH_SETS] = (struct epoch_log){region->log.bytes, lines, line_limit};
    epochs->stats.checkpoints++;
    pthread_mutex_unlock(&epochs->mutex);
    lists_write(region);
    lines_reset(region);
    for_each_thread (thread, region)
        log_epoch_end(thread);
    return 0;
}

static int publish(struct region *region) {
    region_settle(region);
    replay_allow(epochs_of(region), region->epoch - 1);
    return replay_all(epochs_of(region));
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

static int recover_epoch(struct recovery_job *job) { return protocol_redo.recover(job); }

const struct protocol protocol_epoch = {
    .name = "epoch",
    .id = 5,
    .sets = EPOCH_SETS,
    .enter = enter,
    .log_range = log_range,
    .commit = commit,
    .publish = publish,
    .rollback = rollback,
    .forget = lines_reset,
    .cut = lines_cut,
    .recover = recover_epoch,
};
