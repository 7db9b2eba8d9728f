/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of a tracked file. */
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

/* Lines that threads may be storing to while they are committed: the content that is committed of them. */
struct held {
    struct vector lines, contents;
    uint32_t *place; /* by line of the file: its number among these + 1; 0: not among them */
    uint64_t place_bytes;
    bool any; /* a log is held */
};

/* The log file, mapped; recovery needs nothing else, which is what its tests rely on. */
struct log_view {
    uint8_t *base;
    uint64_t bytes;
};

/* What mmap gave the program of a file, as offsets. */
struct mapping {
    uint64_t begin, end;
};

/* The file, wherever its name goes. */
struct file_identity {
    uint64_t device, inode, birth_ns;
};

/* What other threads write while one stores is kept apart, on lines of its own, from what that one reads. */
#define ON_A_LINE _Alignas(64)

/* The threads whose commit is the one under way: core/group.c. */
struct commit_group {
    bool any;                            /* beside the one that leads */
    ON_A_LINE atomic_uint_fast64_t step; /* the group's number * GROUP_STEPS + how often work was opened to it */
    log_work *work;                      /* if it was */
};
#define GROUP_STEPS 16u

struct region {
    bool in_use;
    atomic_uint users;   /* calls that were given a descriptor of the file: it is neither closed nor moved */
    atomic_uint movers;  /* those of them that wait to move it */
    bool inherited;      /* by a forked child: the file is the parent's, the working copy is private to the child */
    uint64_t generation; /* tells a reused slot's thread-local pointers from stale ones */
    const struct protocol *protocol;
    uint8_t *working;
    uint8_t *backing;
    uint64_t bytes;        /* of the file */
    uint64_t mapped_bytes; /* rounded up to pages */
    uint64_t span_bytes;   /* addresses kept for working copy and backing, so that the file can grow under both */
    _Atomic uint8_t *line_states;
    _Atomic uint8_t *page_wanted; /* by page of the file: it is in the list, or known to have blocks */
    _Atomic uint32_t *pages;      /* number + 1, in the order in which they were first stored to; 0: not yet there */
    uint8_t *shadow;              /* SNAPSHOT_CHECK: the file as announced stores explain it; else NULL */
    uint8_t *announced;           /* SNAPSHOT_CHECK: by line, in this epoch */
    struct log_view log;
    int log_fd;
    ON_A_LINE uint64_t epoch; /* of the next commit */
    uint64_t epoch_record;    /* of the newest record in the log */
    bool unsettled;           /* the last commit was declared and not fenced yet */
    bool lone_writes;         /* left by a program's only thread to its own next fence */
    uint64_t pages_backed;    /* the first so many pages of `pages` have blocks */
    struct held held;
    struct commit_group group;
    ON_A_LINE struct snapshot_stats stats;
    ON_A_LINE struct protocol_state protocol_state;
    _Atomic(struct thread_log *) threads;
    atomic_uint tag_count; /* logs that were ever made */
    atomic_uint_fast64_t page_count;
    ON_A_LINE atomic_bool collecting; /* a commit or its kind: no thread announces */
    atomic_bool lists_overlap;        /* a line may be listed twice */
    ON_A_LINE atomic_bool busy;       /* the mutex is taken for longer than a moment */
    atomic_uint turn;                 /* counts what threads sleep for; and how many do */
    atomic_uint sleepers;
    ON_A_LINE pthread_mutex_t mutex; /* commit, rollback */
    int data_fd;                     /* of files opened by snapshot_map, else -1 */
    int lock_fd;                     /* of the file, with the lock on it */
    bool lock_is_lent;               /* the descriptor is the caller's */
    struct file_identity identity;
    struct mapping mappings[MAPPINGS_MAX];
    size_t mapping_count;
    uint64_t idle_since; /* core/idle.c: the order in which files lost their last mapping; 0: mapped */
    char path[PATH_MAX];
};

/* core/region.c */
extern struct region regions[REGIONS_MAX];
extern pthread_mutex_t regions_mutex;

struct open_request {
    int fd; /* of the data file, for reading and writing */
    const char *path;
    unsigned flags;
    const void *hint;
    uint64_t room_bytes; /* the file may grow to at least this */
    bool recover_only;   /* no working copy */
};

#endif
