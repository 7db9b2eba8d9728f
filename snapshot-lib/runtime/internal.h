/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the runtime know of each other. Reading order: format.h, protocol.h, protocol_redo.c, commit.c,
 * recover.c, region.c. */
#ifndef SNAPSHOT_INTERNAL_H
#define SNAPSHOT_INTERNAL_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "format.h"
#include "snapshot/snapshot.h"
#include "vector.h"

#define REGIONS_MAX 16
#define MAPPINGS_MAX 32
#define SNAPSHOT_PAGE 4096u

/* State of a line of the working copy within the epoch. Busy: a thread is about to make it dirty. */
enum line_state { LINE_CLEAN = 0, LINE_BUSY = 1, LINE_DIRTY = 2 };

struct region;
struct protocol;
struct stat;

/* What one thread has done to one region in this epoch. The region owns it; a thread that ends hands it on. */
struct thread_log {
    struct block block; /* being filled */
    struct region *region;
    struct thread_log *next;
    atomic_bool in_use;
    struct vector changes; /* what was logged, in order; what an item is depends on the protocol */
    uint64_t change_count; /* also of those that a protocol does not list */
    uint32_t block_words;  /* undo: used of the block's content */
    uint8_t *chunk;        /* where the next block goes; NULL: needs a chunk */
    uint8_t *chunk_end;
    uint32_t sequence;
    struct vector waiting; /* blocks for which there was no space in the log */
    uint64_t log_bytes;    /* written to the log file */
    uint64_t fences;
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

struct region {
    bool in_use;
    bool inherited;      /* by a forked child: the file is the parent's, the working copy is private to the child */
    uint64_t generation; /* tells a reused slot's thread-local pointers from stale ones */
    const struct protocol *protocol;
    uint8_t *working;
    uint8_t *backing;
    uint64_t bytes;        /* of the file */
    uint64_t mapped_bytes; /* rounded up to pages */
    uint64_t span_bytes;   /* addresses kept for working copy and backing, so that the file can grow under both */
    _Atomic uint8_t *line_states;
    struct log_view log;
    int log_fd;
    uint64_t epoch;                  /* of the next commit */
    uint64_t epoch_record;           /* of the newest record in the log */
    bool unsettled;                  /* the last commit was declared and not fenced yet */
    bool lone_writes;                /* left by a program's only thread to its own next fence */
    atomic_uint_fast64_t chunk_next; /* of this epoch */
    atomic_uint_fast64_t order_next; /* undo: of this epoch */
    struct vector committed;         /* lines of the last commit; redo: they are in the log alone */
    struct vector due;               /* redo: lines of the commit before it that the file may have when it is settled */
    _Atomic(struct thread_log *) threads;
    pthread_mutex_t mutex; /* commit, rollback */
    struct snapshot_stats stats;
    _Atomic uint8_t *page_wanted; /* by page of the file: it is in the list, or known to have blocks */
    _Atomic uint32_t *pages;      /* number + 1, in the order in which they were first stored to; 0: not yet there */
    atomic_uint_fast64_t page_count;
    uint64_t pages_backed; /* the first so many of them have blocks */
    uint8_t *shadow;       /* SNAPSHOT_CHECK: the file as announced stores explain it; else NULL */
    uint8_t *announced;    /* SNAPSHOT_CHECK: by line, in this epoch */
    int data_fd;           /* of files opened by snapshot_map, else -1 */
    int lock_fd;           /* of the file, with the lock on it */
    bool lock_is_lent;     /* the descriptor is the caller's */
    struct file_identity identity;
    struct mapping mappings[MAPPINGS_MAX];
    size_t mapping_count;
    uint64_t idle_since; /* idle.c: the order in which files lost their last mapping; 0: mapped */
    char path[PATH_MAX];
};

/* arena.c: one range of addresses holds all working copies, so that the inlined check is one comparison. */
enum arena_place {
    ARENA_ANYWHERE, /* in the arena, at the hint if that is free */
    ARENA_AGAIN,    /* the same, and outside too: the hint is where the file was last */
    ARENA_FIXED,    /* at the hint or not at all, outside too */
};
int arena_reserve(uint64_t span_bytes, const void *hint, enum arena_place place, uint8_t **address);
void arena_release(uint8_t *address, uint64_t span_bytes);
bool arena_has(const void *address);
int arena_populate(uint8_t *address, uint64_t bytes);
void arena_empty(uint8_t *address, uint64_t bytes);

/* placement.c */
int placement_apply(uint8_t *address, uint64_t bytes);

/* The system calls themselves: the runtime must not meet its own interposed functions. */
void *kernel_mmap(void *hint, size_t bytes, int protection, int flags, int fd, int64_t offset);
int kernel_munmap(void *address, size_t bytes);
void *kernel_mremap(void *address, size_t old_bytes, size_t bytes);

/* region.c */
extern pthread_mutex_t regions_mutex;
struct region *region_find(const void *address);
struct open_request {
    int fd; /* of the data file, for reading and writing */
    const char *path;
    unsigned flags;
    const void *hint;
    uint64_t room_bytes; /* the file may grow to at least this */
    bool recover_only;   /* no working copy */
};

struct region *region_of_span(const void *address);
struct region *region_of_file(int fd);
int region_open(const struct open_request *request, struct region **out);
int region_close(struct region *region);
int region_recover(int fd, const char *path);
void region_populate(struct region *region);
int region_invalidate(struct region *region);

/* mappings.c */
int mapping_add(struct region *region, uint64_t begin, uint64_t end);
int mapping_cut(struct region *region, uint64_t begin, uint64_t end);
int mapping_resize(struct region *region, uint64_t begin, uint64_t old_bytes, uint64_t new_bytes);

/* idle.c */
int region_unmapped(struct region *region);
void region_mapped(struct region *region);
void idle_check(void);
int region_open_making_room(const struct open_request *request, struct region **out);

/* room.c */
int region_move(struct region *region, const void *hint, bool fixed, uint64_t bytes);

/* backing.c */
void pages_want(struct region *region, uint64_t offset, uint64_t bytes);
int pages_back(struct region *region);
void pages_forget(struct region *region, uint64_t from_bytes);

/* check.c */
bool check_is_wanted(void);
void check_announce(struct region *region, uint64_t offset, uint64_t bytes);
void check_commit(struct region *region);
void check_committed(struct region *region);
void check_discard(struct region *region, const char *why);

/* file_lock.c */
int file_lock(struct region *region, const struct open_request *request);
void file_unlock(struct region *region);
int lock_exclusively(int fd);
bool path_is_of(const char *path, int fd);

/* fork.c */
void fork_watch(void);

/* resize.c */
int region_resize(struct region *region, int fd, uint64_t bytes);

/* file_record.c */
int file_identity_read(int fd, struct file_identity *identity);
bool file_record_is_of_another(int log_fd, const struct file_identity *identity);
int file_record_open(struct region *region, bool adopt);
struct file_record file_record_read(struct log_view log);
void file_record_write(struct log_view log, struct file_record record);

/* log_file.c */
int log_file_open(struct region *region, const char *data_path, unsigned flags);
int log_file_grow(struct region *region, uint64_t chunk_count);
bool log_says_nothing(struct log_view log);
int log_file_move(struct region *region, uint64_t span_bytes);
void log_file_close(struct region *region);
int log_file_discard_stale(const struct region *region, const struct stat *data);
void log_file_format(struct log_view log, const struct protocol *protocol);
int log_file_check(struct log_view log);
void *map_shared(int fd, uint64_t bytes, void *fixed);

/* threads.c */
struct thread_log *thread_log_get(struct region *region);
void thread_logs_free(struct region *region);

/* commit.c */

/* Durable: when the call returns (MS_SYNC). Declared: at the latest with the next commit that is (MS_ASYNC). */
enum commit_mode { COMMIT_DURABLE, COMMIT_DECLARED };
int region_commit(struct region *region, enum commit_mode mode);
bool region_has_changes(struct region *region);
int region_msync(struct region *region, enum commit_mode mode); /* region.c */
int region_rollback(struct region *region);

/* Before and after all that takes the mutex; with it, the same as without the suffix. */
void region_enter(struct region *region);
void region_leave(struct region *region);
int region_commit_locked(struct region *region, enum commit_mode mode);
int region_detach_locked(struct region *region);

/* The fence a declared commit still lacks. The mutex is held. */
void region_settle(struct region *region);
void region_fence(struct region *region);

/* For those who read the file by other ways than the working copy: it gets all that is committed. 0 or -EUCLEAN. */
int region_publish(struct region *region);

/*
 * Make the log assert nothing about the file, which gets all that is committed: it can then be cut, renamed, closed or
 * copied without its log. What is not committed is rolled back. Commits may follow. 0, or -EUCLEAN: the log is damaged,
 * and log and file are left as a crash would leave them.
 */
int region_detach(struct region *region);

/* recover.c: with the protocol that wrote the log; the next epochs are another's, perhaps. 0, -EUCLEAN, -EINVAL. */
struct recovery {
    uint64_t epoch;      /* last commit found: the state that is now in the file */
    uint64_t epoch_next; /* first epoch that may be used */
    uint64_t lines_undone;
    uint64_t lines_replayed;
};
int recover(struct log_view log, uint8_t *backing, uint64_t data_bytes, const struct protocol *next,
            struct recovery *result);

#endif
