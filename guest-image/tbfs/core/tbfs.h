/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * A file system on persistent memory, as an instrument: one format and one code, on which ways to keep metadata and
 * data are compared. Nothing here allocates, locks, or knows the time: the caller gives memory, makes one call at a
 * time and says what time it is. Every call is durable when it returns. It returns 0, or bytes, or -errno, and on an
 * error has changed nothing, but for a write of which a part was done.
 *
 * -EUCLEAN: the medium holds what this code never writes, or this call was stopped because a rule of this code was
 * broken. Calls that would change something are -EROFS after that; those that read go on.
 */
#ifndef TBFS_TBFS_H
#define TBFS_TBFS_H

#include "format.h"
#include "port.h"
#include "transaction.h"

struct tbfs_space {
    uint8_t *base; /* aligned to a block */
    uint64_t bytes;
};

enum tbfs_metadata { TBFS_METADATA_UNDO, TBFS_METADATA_LOG };
enum tbfs_data { TBFS_DATA_INPLACE, TBFS_DATA_COW, TBFS_DATA_HYBRID };

/* Of TBFS_DATA_HYBRID: 0 stands for the first value or the number that is named. With other policies all are 0. */
enum tbfs_read { TBFS_READ_REVERSE = 1, TBFS_READ_FORWARD };
enum tbfs_multi { TBFS_MULTI_CALL = 1, TBFS_MULTI_PAGE };
#define TBFS_GC_NEVER UINT64_MAX
struct tbfs_hybrid {
    unsigned log_block_bytes; /* of a new log: 512, 1024, 2048 or 4096, which is the default */
    unsigned log_align_bytes; /* at which entries begin: 8, the default, or 64 */
    unsigned log_write_bytes; /* what is written to a page is logged if it is not more: 1 to 4095; 2048 */
    uint64_t gc_read_bytes;   /* a read that meets a log of more than this merges it; 4096 */
    enum tbfs_read read;      /* from the newest entry, or from the oldest */
    enum tbfs_multi multi;    /* what is there as a whole or not: what a transaction can hold, or each page */
    /* Of tbfs_merge_some(), in hundredths of all blocks: it begins if fewer are free, 0: never; and ends when so many
     * are, twice as many. */
    unsigned gc_low_percent, gc_high_percent;
    unsigned gc_idle_us; /* the caller's own: for how long nobody has called before it calls that; 1000 */
};

/* A rule of the core was broken: a sentence without its end, and the number that it is about. */
typedef void tbfs_report(struct tbfs *fs, const char *sentence, uint64_t number);

struct tbfs_options {
    enum tbfs_data data;
    unsigned atomic_bytes; /* 8, 16 or 64: changes within one such unit need no log; 0: all do */
    struct tbfs_hybrid hybrid;
    enum tbfs_metadata metadata; /* what is logged: old content, and changes wait for it; or new, and they do not */
    tbfs_report *report;         /* null: nobody is told */
};

/* One bit a block or inode, set if it is in use. */
struct tbfs_map {
    uint64_t *words;
    uint64_t count, free, hint;
};

struct tbfs_counters {
    uint64_t transactions, atomic_updates, journal_entries;
    uint64_t log_entries, log_entries_read, merges; /* of pages' logs */
};

/* How far tbfs_merge_some() is: all files are gone through, then again for shorter logs. */
struct tbfs_background {
    uint64_t ino, index;      /* where it goes on; 0: it has not begun */
    uint64_t least_bytes;     /* of the logs that it merges now */
    uint64_t most_left_bytes; /* of the logs that it has met and left */
};

/* A file system that is mounted. The fields are the core's own, but for `read_only` and the counters. */
struct tbfs {
    struct tbfs_space space;
    struct tbfs_options options;
    bool read_only;     /* the caller's, between calls: see tbfs_mount() */
    const char *broken; /* the rule of the core that was broken first; null: none. No call changes anything then */
    struct tbfs_super *super;
    struct tbfs_map blocks, inodes;
    uint64_t *pieces; /* which 512 bytes are a log's: of a block for logs, for which its bit of `blocks` is set, too */
    uint64_t pieces_used, pieces_free, piece_hint; /* in such blocks; where one was found */
    uint64_t call_end;                             /* behind what the call that is under way writes or maps of a file */
    struct tbfs_journal journal;
    struct tbfs_transaction transaction;
    struct tbfs_counters counters;
    struct tbfs_background background;
};

struct tbfs_layout {
    uint64_t journal_bytes; /* 0: 1/64 of the space, up to 4 MiB */
    uint64_t inode_count;   /* 0: one for each 16 KiB */
    const char *label;      /* up to TBFS_LABEL_BYTES, or null */
};

/* -ENOSPC: too small for its journal, inodes and one block. */
int tbfs_make(struct tbfs_space space, const struct tbfs_layout *layout, uint32_t now);

/*
 * -EINVAL: no such file system, or options that do not exist. -EPROTONOSUPPORT: of another version. `memory` is aligned
 * to 8 and has what tbfs_memory_bytes() says, until the file system is no longer used; there is nothing to do then.
 *
 * A mount recovers, and so it writes. With `read_only` set afterwards no call does: what would change something is
 * -EROFS, and what a read or a merge would only tidy stays as it is.
 */
int64_t tbfs_memory_bytes(struct tbfs_space space);
int tbfs_mount(struct tbfs *fs, struct tbfs_space space, const struct tbfs_options *options, void *memory);

struct tbfs_name {
    const char *text;
    size_t bytes;
};

/* Whose new inodes are, and the time in seconds. */
struct tbfs_caller {
    uint32_t uid, gid, now;
};

struct tbfs_new {
    uint16_t mode; /* with its type */
    uint32_t rdev;
    struct tbfs_name target; /* of a symbolic link */
};

/* Names. What has lost its last name goes to `*orphan` (else 0), stays readable, and is to be evicted at its last
 * close. */
int tbfs_lookup(struct tbfs *fs, uint64_t dir, struct tbfs_name name, uint64_t *ino);
int tbfs_create(struct tbfs *fs, uint64_t dir, struct tbfs_name name, const struct tbfs_new *what,
                const struct tbfs_caller *caller, uint64_t *ino);
int tbfs_link(struct tbfs *fs, uint64_t ino, uint64_t dir, struct tbfs_name name, uint32_t now);
int tbfs_unlink(struct tbfs *fs, uint64_t dir, struct tbfs_name name, uint32_t now, uint64_t *orphan);
int tbfs_rmdir(struct tbfs *fs, uint64_t dir, struct tbfs_name name, uint32_t now, uint64_t *orphan);

enum tbfs_rename_flags { TBFS_RENAME_NOREPLACE = 1, TBFS_RENAME_EXCHANGE = 2 };
struct tbfs_place {
    uint64_t dir;
    struct tbfs_name name;
};
int tbfs_rename(struct tbfs *fs, struct tbfs_place from, struct tbfs_place to, unsigned flags, uint32_t now,
                uint64_t *orphan);

/* Its blocks and its number are free then. -EROFS: when it is mounted again. */
int tbfs_evict(struct tbfs *fs, uint64_t ino, uint32_t now);

/* The next entry at or after `*position`, which moves behind it. 1: there is one; 0: no more. */
struct tbfs_listed {
    uint64_t ino;
    unsigned type; /* mode >> 12 */
    struct tbfs_name name;
};
int tbfs_readdir(struct tbfs *fs, uint64_t dir, uint64_t *position, struct tbfs_listed *entry);

/* From a position that is from before a change, or from nowhere, to that of the first entry at or after it. */
int tbfs_readdir_seek(struct tbfs *fs, uint64_t dir, uint64_t *position);

/* Inodes. -ENOENT: there is none of this number. */
int tbfs_inode_get(struct tbfs *fs, uint64_t ino, struct tbfs_inode *inode);

enum tbfs_attributes { TBFS_SET_MODE = 1, TBFS_SET_OWNER = 2, TBFS_SET_MTIME = 4, TBFS_SET_ATIME = 8 };
struct tbfs_change {
    unsigned which;
    uint16_t mode; /* its type is ignored */
    uint32_t uid, gid, mtime, atime;
};
int tbfs_inode_set(struct tbfs *fs, uint64_t ino, const struct tbfs_change *change, uint32_t now);

/* Files. */
int64_t tbfs_read(struct tbfs *fs, uint64_t ino, uint64_t offset, void *buffer, uint64_t bytes);

/* Where the caller wants what is read: bytes that belong `at` bytes behind its begin, null: zeros. In any order, and
 * with TBFS_READ_FORWARD more than once; what comes last holds. -errno: it cannot be there. */
struct tbfs_sink {
    int (*copy)(void *context, uint64_t at, const void *source, uint64_t bytes);
    void *context;
};
int64_t tbfs_read_to(struct tbfs *fs, uint64_t ino, uint64_t offset, const struct tbfs_sink *sink, uint64_t bytes);

int64_t tbfs_write(struct tbfs *fs, uint64_t ino, uint64_t offset, const void *data, uint64_t bytes, uint32_t now);

/* Data that the caller copies: what is `at` bytes behind their begin. They are durable after a fence. -errno: they
 * cannot be had. */
struct tbfs_source {
    int (*copy)(void *context, uint64_t at, void *target, uint64_t bytes);
    void *context;
};
int64_t tbfs_write_from(struct tbfs *fs, uint64_t ino, uint64_t offset, const struct tbfs_source *source,
                        uint64_t bytes, uint32_t now);

/* The blocks from that of `offset` on that lie together, or are a hole together: at least one. A page with a log is
 * alone, and its block is none that can be read or written. */
struct tbfs_extent {
    uint64_t offset, bytes; /* in the space; 0: a hole */
    bool has_log;
};
int tbfs_find_extent(struct tbfs *fs, uint64_t ino, uint64_t offset, uint64_t bytes, struct tbfs_extent *extent);

/* No page of the range has a log any more: the content is the same. -ENOSPC, -EROFS: not all of them. */
int tbfs_merge(struct tbfs *fs, uint64_t ino, uint64_t offset, uint64_t bytes);

/*
 * For one who has time, if logs are to be merged because room is short: one step, which merges one log or looks for
 * one. The longest go first, by powers of two. False: there is nothing to do until something has changed.
 */
bool tbfs_merge_some(struct tbfs *fs);
bool tbfs_wants_merge(const struct tbfs *fs); /* whether there is something to do, or was */

int tbfs_truncate(struct tbfs *fs, uint64_t ino, uint64_t size, uint32_t now);

enum tbfs_fallocate_flags { TBFS_KEEP_SIZE = 1, TBFS_PUNCH_HOLE = 2 }; /* the second wants the first */
int tbfs_fallocate(struct tbfs *fs, uint64_t ino, unsigned flags, uint64_t offset, uint64_t bytes, uint32_t now);

struct tbfs_statfs {
    uint64_t blocks, blocks_free, inodes, inodes_free;
};
void tbfs_statfs(const struct tbfs *fs, struct tbfs_statfs *result);

/*
 * What is wrong with a mounted file system; it changes nothing. `memory` as above, of tbfs_check_memory_bytes().
 * Returns how many faults were told.
 */
struct tbfs_fault {
    const char *what;
    uint64_t ino, number;
};
typedef void tbfs_tell(void *context, const struct tbfs_fault *fault);
uint64_t tbfs_check_memory_bytes(const struct tbfs *fs);
uint64_t tbfs_check(struct tbfs *fs, void *memory, tbfs_tell *tell, void *context);

#endif
