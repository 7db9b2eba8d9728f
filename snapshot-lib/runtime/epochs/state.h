/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of the epochs of a file beside its region. */
#ifndef SNAPSHOT_EPOCHS_STATE_H
#define SNAPSHOT_EPOCHS_STATE_H

#include "base/region.h"
#include "log/thread_log.h"
#include "snapshot/epochs.h"

#define EPOCH_SETS 4u

/* A thread that has entered. Its own, and in a list while it has. */
struct member {
    uint64_t generation; /* of the region; another: not entered */
    struct thread_log *log;
    struct member *next;
    bool idle;
    bool parked;
    bool writes; /* parked, and its list is to be written */
};

/* The log of an epoch that is not replayed yet, as it was when it was written: file and log may grow meanwhile, and the
 * log may move. */
struct epoch_log {
    uint64_t log_bytes, lines, line_limit;
};

struct epochs {
    pthread_mutex_t mutex; /* of all below; held for moments only */
    pthread_cond_t changed;
    struct region *region;
    struct snapshot_epochs options;
    bool started;
    struct snapshot_epochs_stats stats;

    /* members.c */
    struct member *members;
    atomic_bool gathering; /* somebody makes a checkpoint: changed with the mutex, looked at without */
    atomic_uint_fast64_t due_ns;
    uint64_t rounds;  /* gatherings that have ended */
    int round_status; /* of the last */
    unsigned writers; /* members that still have to write theirs */

    /* replay.c */
    pthread_mutex_t replaying; /* one at a time, and before `mutex` */
    struct epoch_log logs[EPOCH_SETS];
    uint64_t durable;  /* the last epoch that a crash cannot take back */
    uint64_t replayed; /* the last one that the file has, durably */
    int replay_status; /* -EUCLEAN for good: a log was damaged before it was replayed */
    uint64_t replay_fences, replay_lines;
    pthread_t replayer;
    bool has_replayer, replayer_ends;
};

extern struct epochs epochs_all[REGIONS_MAX];

static inline struct epochs *epochs_of(const struct region *region) { return &epochs_all[region - regions]; }

/* epochs.c */
struct region *epochs_region(const void *address, int *status);
uint64_t epochs_now(const struct epochs *epochs);

/* members.c */
bool member_is_active(const struct region *region);
void member_enter(struct region *region);

/* The lists of all threads to the log: those of parked members by themselves. All is in the log when it returns, and
 * fenced but for what the caller wrote. */
void lists_write(struct region *region);

/* protocol_epoch.c */
void epoch_list_write(struct thread_log *thread);

/* page_in.c */
uint64_t pages_brought(const struct region *region);

/* replay.c */
int replayer_start(struct epochs *epochs);
void replayer_end(struct epochs *epochs);
void replay_allow(struct epochs *epochs, uint64_t durable);
int replay_all(struct epochs *epochs);
int replay_make_room(struct epochs *epochs, uint64_t epoch);

#endif
