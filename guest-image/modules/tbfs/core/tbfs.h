/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * A file system on persistent memory, as an instrument: one format and one code base compare ways to store metadata and
 * data. The core neither allocates nor locks, and does not read a clock: the caller supplies memory, makes one call at
 * a time and passes the time. Every call is durable when it returns. It returns 0, a number of bytes or -errno. A
 * failed call has changed nothing, except that tbfs_fallocate() and tbfs_merge() keep completed parts. A write that
 * completed only a part returns the size of that part.
 *
 * -EUCLEAN: the medium contains data that this code never writes, or an invariant of this code was broken and the call
 * was stopped. After a broken invariant, calls that would change something return -EROFS; reads still work.
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

/* Options of TBFS_DATA_HYBRID. 0 selects the default: the first value of an enum, or the number below. With other
 * policies all are 0. */
enum tbfs_read { TBFS_READ_REVERSE = 1, TBFS_READ_FORWARD };
enum tbfs_multi { TBFS_MULTI_CALL = 1, TBFS_MULTI_PAGE };
#define TBFS_GC_NEVER UINT64_MAX
struct tbfs_hybrid {
    unsigned log_block_bytes; /* of a new log: 512, 1024, 2048 or 4096; default 4096 */
    unsigned log_align_bytes; /* alignment of entries: 8 or 64; default 8 */
    unsigned log_write_bytes; /* the largest write to a page that is logged: 1 to 4095; default 2048 */
    uint64_t gc_read_bytes;   /* a read that finds a log longer than this merges it; default 4096 */
    enum tbfs_read read;      /* order of entries: from the newest one, or from the oldest */
    enum tbfs_multi multi;    /* unit of atomicity: as much as one transaction can hold, or each page */
    /* Of tbfs_merge_some(), in percent of all blocks: it begins when fewer than `low` are free (0: never), and ends
     * when `high` are free (default: twice `low`, at most 100). */
    unsigned gc_low_percent, gc_high_percent;
    unsigned gc_idle_us; /* for the caller: time without a call before tbfs_merge_some(); default 1000 */
};

/* Receives a broken invariant: a sentence without its last word, and the number that completes it. */
typedef void tbfs_report(struct tbfs *fs, const char *sentence, uint64_t number);

struct tbfs_options {
    enum tbfs_data data;
    unsigned atomic_bytes; /* 8, 16 or 64: changes within one such unit need no journal; 0: all changes do */
    struct tbfs_hybrid hybrid;
    enum tbfs_metadata metadata; /* the journal has old contents; or new ones, and changes in place can wait */
    tbfs_report *report;         /* null: no report */
};

/* One bit for each block or inode, set if it is in use. */
struct tbfs_map {
    uint64_t *words;
    uint64_t count, free, hint;
};

struct tbfs_counters {
    uint64_t transactions, atomic_updates, journal_entries;
    uint64_t log_entries, log_entries_read, merges; /* of logs of pages */
};

/* Progress of tbfs_merge_some(): passes over all files, each for shorter logs than the one before. */
struct tbfs_background {
    uint64_t ino, index;      /* the next page to look at; `ino` 0: not begun */
    uint64_t least_bytes;     /* the shortest log that this pass merges */
    uint64_t most_left_bytes; /* the longest log that this pass has found and left */
};

/* A mounted file system. The fields are private to the core, except `read_only` and the counters. */
struct tbfs {
    struct tbfs_space space;
    struct tbfs_options options;
    bool read_only;     /* set by the caller between calls: see tbfs_mount() */
    const char *broken; /* the first broken invariant, after which no call changes anything; null: none */
    struct tbfs_super *super;
    struct tbfs_map blocks, inodes;
    uint64_t *pieces; /* one bit for 512 bytes: a log uses them. The bit of their block in `blocks` is then set, too */
    uint64_t pieces_used, pieces_free, piece_hint; /* in divided blocks; word of the last piece found */
    uint64_t call_end; /* end of the range that the current call writes or allocates in a file, else 0 */
    struct tbfs_journal journal;
    struct tbfs_transaction transaction;
    struct tbfs_counters counters;
    struct tbfs_background background;
};

struct tbfs_layout {
    uint64_t journal_bytes; /* 0: 1/64 of the space, 64 KiB to 4 MiB */
    uint64_t inode_count;   /* 0: one for each 16 KiB */
    const char *label;      /* up to TBFS_LABEL_BYTES, or null */
};

/* -ENOSPC: the space is too small for the journal, the inodes and one block. */
int tbfs_make(struct tbfs_space space, const struct tbfs_layout *layout, uint32_t now);

/*
 * -EINVAL: the space holds no tbfs, or the options are invalid. -EPROTONOSUPPORT: a tbfs of another version. `memory`
 * is aligned to 8 and has tbfs_memory_bytes() bytes. The core uses it until the caller no longer uses the file system;
 * an unmount needs no call.
 *
 * A mount recovers, and so it writes to the medium. With `read_only` set afterwards no call writes: calls that would
 * change content return -EROFS, and logs stay unmerged.
 */
int64_t tbfs_memory_bytes(struct tbfs_space space);
int tbfs_mount(struct tbfs *fs, struct tbfs_space space, const struct tbfs_options *options, void *memory);

struct tbfs_name {
    const char *text;
    size_t bytes;
};

/* The owner of new inodes, and the time in seconds. */
struct tbfs_caller {
    uint32_t uid, gid, now;
};

struct tbfs_new {
    uint16_t mode; /* with the type bits */
    uint32_t rdev;
    struct tbfs_name target; /* of a symbolic link only */
};

/* Names. An inode that loses its last name is returned in `*orphan` (else 0). It stays readable, and the caller evicts
 * it at its last close. */
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

/* Frees the inode's blocks and its number. After -EROFS the next mount frees them. */
int tbfs_evict(struct tbfs *fs, uint64_t ino, uint32_t now);

/* Returns the next entry at or after `*position`, and moves the position behind it. 1: found; 0: no more entries. */
struct tbfs_listed {
    uint64_t ino;
    unsigned type; /* mode >> 12 */
    struct tbfs_name name;
};
int tbfs_readdir(struct tbfs *fs, uint64_t dir, uint64_t *position, struct tbfs_listed *entry);

/* Moves a position to the first entry at or after it. The position may be arbitrary, or from before a change. */
int tbfs_readdir_seek(struct tbfs *fs, uint64_t dir, uint64_t *position);

/* Inodes. -ENOENT: no inode has this number. */
int tbfs_inode_get(struct tbfs *fs, uint64_t ino, struct tbfs_inode *inode);

enum tbfs_attributes { TBFS_SET_MODE = 1, TBFS_SET_OWNER = 2, TBFS_SET_MTIME = 4, TBFS_SET_ATIME = 8 };
struct tbfs_change {
    unsigned which;
    uint16_t mode; /* its type bits are ignored */
    uint32_t uid, gid, mtime, atime;
};
int tbfs_inode_set(struct tbfs *fs, uint64_t ino, const struct tbfs_change *change, uint32_t now);

/* Files. */
int64_t tbfs_read(struct tbfs *fs, uint64_t ino, uint64_t offset, void *buffer, uint64_t bytes);

/* The destination of a read. `copy` receives bytes that belong `at` bytes after the beginning of the read; a null
 * source means zeros. Parts come in any order. With TBFS_READ_FORWARD a byte can come more than once: the last copy
 * counts. -errno: the destination cannot be written. */
struct tbfs_sink {
    int (*copy)(void *context, uint64_t at, const void *source, uint64_t bytes);
    void *context;
};
int64_t tbfs_read_to(struct tbfs *fs, uint64_t ino, uint64_t offset, const struct tbfs_sink *sink, uint64_t bytes);

int64_t tbfs_write(struct tbfs *fs, uint64_t ino, uint64_t offset, const void *data, uint64_t bytes, uint32_t now);

/* The data of a write, copied by the caller. `copy` takes the bytes that are `at` bytes after the beginning of the
 * data, and makes them durable after the next fence. -errno: the data cannot be read. */
struct tbfs_source {
    int (*copy)(void *context, uint64_t at, void *target, uint64_t bytes);
    void *context;
};
int64_t tbfs_write_from(struct tbfs *fs, uint64_t ino, uint64_t offset, const struct tbfs_source *source,
                        uint64_t bytes, uint32_t now);

/* The blocks from the one at `offset` on that are adjacent in the space, or that are one hole: at least one block. A
 * page with a log is a separate extent, since its block alone can be neither read nor written. */
struct tbfs_extent {
    uint64_t offset, bytes; /* in the space; 0: a hole, or a page with a log */
    bool has_log;
};
int tbfs_find_extent(struct tbfs *fs, uint64_t ino, uint64_t offset, uint64_t bytes, struct tbfs_extent *extent);

/* Merges all logs of the range; the content stays the same. -ENOSPC, -EROFS: some logs remain. */
int tbfs_merge(struct tbfs *fs, uint64_t ino, uint64_t offset, uint64_t bytes);

/*
 * For an idle caller, when space is short: one step, which merges one log or searches for one. The longest logs come
 * first, by powers of two. False: nothing can be done until something has changed.
 */
bool tbfs_merge_some(struct tbfs *fs);
bool tbfs_wants_merge(const struct tbfs *fs); /* whether space is short and logs exist; perhaps no merge frees space */

int tbfs_truncate(struct tbfs *fs, uint64_t ino, uint64_t size, uint32_t now);

enum tbfs_fallocate_flags { TBFS_KEEP_SIZE = 1, TBFS_PUNCH_HOLE = 2 }; /* PUNCH_HOLE requires KEEP_SIZE */
int tbfs_fallocate(struct tbfs *fs, uint64_t ino, unsigned flags, uint64_t offset, uint64_t bytes, uint32_t now);

struct tbfs_statfs {
    uint64_t blocks, blocks_free, inodes, inodes_free;
};
void tbfs_statfs(const struct tbfs *fs, struct tbfs_statfs *result);

/*
 * Reports the faults of a mounted file system, and changes nothing. `memory` is aligned to 8 and has
 * tbfs_check_memory_bytes() bytes. Returns the number of faults.
 */
struct tbfs_fault {
    const char *what;
    uint64_t ino, number;
};
typedef void tbfs_tell(void *context, const struct tbfs_fault *fault);
uint64_t tbfs_check_memory_bytes(const struct tbfs *fs);
uint64_t tbfs_check(struct tbfs *fs, void *memory, tbfs_tell *tell, void *context);

#endif
