/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a file's epochs, in addition to its region. */
#ifndef SNAPSHOT_EPOCHS_STATE_H
#define SNAPSHOT_EPOCHS_STATE_H

#include "base/region.h"
#include "log/thread_log.h"
#include "snapshot/epochs.h"

#define EPOCH_SETS 4u

/* A thread that has entered a file. Thread-local, and linked in a list while the thread has entered. */
struct member {
    uint64_t generation; /* generation of the region; another value: the thread has not entered */
    struct thread_log *log;
    struct member *next;
    bool idle;
    bool parked;
    bool writes; /* parked, and still has to write its list */
};

/* The log of an epoch that has not been replayed yet, in its state when it was written: file and log may grow
 * meanwhile, and the log may move. */
struct epoch_log {
    uint64_t log_bytes, lines, line_limit;
};

struct epochs {
    pthread_mutex_t mutex; /* of all fields below; held for moments only */
    pthread_cond_t changed;
    struct region *region;
    struct snapshot_epochs options;
    bool started;
    struct snapshot_epochs_stats stats;

    /* members.c */
    struct member *members;
    atomic_bool gathering; /* a thread makes a checkpoint: written with the mutex held, read without it too */
    atomic_uint_fast64_t due_ns;
    uint64_t rounds;  /* number of gatherings that have ended */
    int round_status; /* result of the last gathering */
    unsigned writers; /* number of members that still have to write their lists */

    /* replay.c */
    pthread_mutex_t replaying; /* one replay at a time; locked before `mutex` */
    struct epoch_log logs[EPOCH_SETS];
    uint64_t durable;  /* the last epoch that a crash cannot undo */
    uint64_t replayed; /* the last epoch that is in the file, durably */
    int replay_status; /* -EUCLEAN for good: a log was damaged before its replay */
    uint64_t replay_fences, replay_lines;
    pthread_t replayer;
    bool has_replayer, replayer_ends;
};

extern struct epochs epochs_all[REGIONS_MAX];

static inline struct epochs *epochs_of(const struct region *region) { return &epochs_all[region - regions]; }

/* epochs.c */
void epochs_await(struct epochs *epochs); /* waits for a change; the mutex is held */
struct region *epochs_region(const void *address, int *status);
uint64_t epochs_now(const struct epochs *epochs);

/* members.c */
bool member_is_active(const struct region *region);
void member_enter(struct region *region);

/* Write the lists of all threads to the log; parked members write theirs themselves. On return everything is in the
 * log, and fenced except for the caller's writes. */
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
