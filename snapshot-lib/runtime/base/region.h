/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a tracked file. */
#ifndef SNAPSHOT_REGION_H
#define SNAPSHOT_REGION_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"
#include "snapshot/snapshot.h"

#define REGIONS_MAX 32
#define MAPPINGS_MAX 32

struct thread_log;

/* Lines to which threads may be storing during their commit, with the content that the commit takes for each. */
struct held {
    struct vector lines, contents;
    uint32_t *place; /* by line of the file: the index in `lines` + 1; 0: not in `lines` */
    uint64_t place_bytes;
    bool any; /* a log is held */
};

/* The mapped log file. Recovery accesses the log through this view alone; its tests rely on that. */
struct log_view {
    uint8_t *base;
    uint64_t bytes;
};

/* A range that the program has mapped, as offsets in the file. */
struct mapping {
    uint64_t begin, end;
};

/* Identifies the file independently of its name. */
struct file_identity {
    uint64_t device, inode, birth_ns;
};

/* Separates fields that other threads write while one thread stores from fields that the storing thread reads: each
 * group starts on a cache line of its own. */
#define ON_A_LINE _Alignas(64)

/* The threads that take part in the commit under way: core/group.c. */
struct commit_group {
    bool any;                            /* the group has members beside the leader */
    ON_A_LINE atomic_uint_fast64_t step; /* the group's number * GROUP_STEPS + number of pieces of work opened to it */
    log_work *work;                      /* the work of the current step, if one is open */
};
#define GROUP_STEPS 16u

struct region {
    atomic_uint users; /* calls in progress by a descriptor of the file: the file is not closed */
    bool inherited;    /* by a forked child: the file is the parent's, the working copy is private to the child */
    uint64_t
        generation; /* number of this opening, by which thread-local pointers are told from older ones; 0: no file */
    const struct protocol *protocol;
    uint8_t *working;
    uint8_t *backing;
    uint64_t bytes;        /* size of the file */
    uint64_t mapped_bytes; /* `bytes` rounded up to pages */
    uint64_t span_bytes;   /* addresses reserved for working copy and backing, so that the file can grow under both */
    _Atomic uint8_t *line_states;
    _Atomic uint8_t *page_wanted; /* by page of the file: 1 if the page is in `pages`, or is known to have blocks */
    _Atomic uint32_t *pages;      /* page number + 1, in the order of the first stores; 0: not yet entered */
    uint8_t *shadow;              /* SNAPSHOT_CHECK: the file with only the announced stores applied; else NULL */
    uint8_t *announced;           /* SNAPSHOT_CHECK: by line, 1 if announced in this epoch */
    struct log_view log;
    int log_fd;
    ON_A_LINE uint64_t epoch; /* number of the next commit */
    uint64_t epoch_record;    /* number of the newest record in the log */
    bool unsettled;           /* the last commit was declared and is not fenced yet */
    bool lone_writes;         /* a program's only thread left writes to the fence of its next commit */
    uint64_t pages_backed;    /* the first so many entries of `pages` have blocks */
    struct held held;
    struct commit_group group;
    ON_A_LINE struct snapshot_stats stats;
    ON_A_LINE struct protocol_state protocol_state;
    _Atomic(struct thread_log *) threads;
    atomic_uint tag_count; /* number of logs ever created */
    atomic_uint_fast64_t page_count;
    ON_A_LINE atomic_bool collecting; /* a commit, or a call like it, collects: no thread announces */
    atomic_bool lists_overlap;        /* a line may be in two lists */
    ON_A_LINE atomic_bool busy;       /* the mutex is held for more than a moment */
    atomic_uint turn;                 /* counts events that threads sleep for; `sleepers`: threads that may sleep */
    atomic_uint sleepers;
    ON_A_LINE pthread_mutex_t mutex; /* held by commits and rollbacks */
    pthread_rwlock_t contents; /* as an inode's lock: shared by reads and commits by descriptor, and had alone by calls
                                  that write, resize or move; taken before the mutex and before the lock of all files */
    int data_fd;               /* descriptor of a file that snapshot_map() opened, else -1 */
    int lock_fd;               /* descriptor of the file that holds its lock; -1: only the log is locked */
    struct file_identity identity;
    struct mapping mappings[MAPPINGS_MAX];
    size_t mapping_count;
    uint64_t idle_since; /* core/idle.c: the order in which files lost their last mapping; 0: mapped */
    char path[PATH_MAX];
};

/* core/region.c */
extern struct region regions[REGIONS_MAX];
void regions_lock(void); /* recursive */
void regions_unlock(void);

struct open_request {
    int fd; /* of the data file, for reading and writing */
    const char *path;
    unsigned flags;
    const void *hint;
    uint64_t room_bytes; /* the file can grow to at least this size */
    bool recover_only;   /* create no working copy */
};

#endif
