/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failure-atomic msync() in user space.
 *
 * A program compiled with snapcc/snap++ keeps using open, mmap and msync. A file is tracked when it is mapped with
 * MAP_SHARED_VALIDATE | MAP_SYNC, or if the environment variable SNAPSHOT_DIR names it or a directory above it. The
 * program then works on a DRAM copy of the file; msync() makes everything stored since the last one durable, all of it
 * or nothing. The calls below are the same machinery without the interposition.
 *
 * Caveats a user can act on:
 *  - Only code compiled with the pass is tracked, plus the libc writers listed in docs/snapshot.md. Call
 *    snapshot_log_range() before anything else writes to the mapping.
 *  - msync() commits what happened before it, on every thread, at once. A store of another thread that runs beside it
 *    is in this commit or in the next. Stores that belong together, and commits, are the program's to order.
 *  - A log file `<file>.snapshot-log` lives beside the data; it belongs to the file: move both. A copy of both needs
 *    SNAPSHOT_ADOPT. After a clean end the log may be deleted, after a crash not.
 *  - The end of a file in a process discards what was not committed: the last munmap() and the last close() of a
 *    descriptor, whichever comes later, and exit. SNAPSHOT_CHECK=1 says so.
 *  - A forked child has a private copy of what is mapped. It may unmap it and read the statistics; its other calls
 *    fail with EPERM.
 *  - No call here is async-signal-safe, and a signal handler must not store to a mapping.
 *
 * docs/snapshot.md has a table of what mmap, msync, munmap, mremap, ftruncate, read, write, fork and others mean.
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Map blocks and touch every page of file and log at once, so that no later store pays for a page fault. */
#define SNAPSHOT_POPULATE 1u
/* At the hint or, without one, at the address of last time; -EEXIST if that is not free. */
#define SNAPSHOT_FIXED 2u
/* File and log are copies of a pair that belonged together; without this -ESTALE. */
#define SNAPSHOT_ADOPT 4u

/*
 * One of these: how commits are made (docs/snapshot.md compares them). None: what the environment variable
 * SNAPSHOT_PROTOCOL names (line, undo, undo-nv, redo), else the default. A file may be opened with another one each
 * time.
 */
#define SNAPSHOT_PROTOCOL_LINE (1u << 8)
#define SNAPSHOT_PROTOCOL_UNDO (2u << 8)
#define SNAPSHOT_PROTOCOL_UNDO_NV (3u << 8)
#define SNAPSHOT_PROTOCOL_REDO (4u << 8)
#define SNAPSHOT_PROTOCOL_MASK (15u << 8)

/*
 * One of these: how stores are found out. None: what the environment variable SNAPSHOT_TRACK names (uffd, mprotect,
 * pass), else uffd. The first two find whole pages, of programs that no pass has compiled, and commit them by the
 * protocol redo only. They are in libsnapshot-pages; libsnapshot, which has the pass alone, takes them for protocols
 * that it does not know, and refuses.
 */
#define SNAPSHOT_TRACK_UFFD (8u << 8)
#define SNAPSHOT_TRACK_MPROTECT (8u << 8 | 1u << 12)
#define SNAPSHOT_TRACK_PASS (1u << 13)

struct snapshot_stats {
    uint64_t commits;         /* msync calls that had something to commit */
    uint64_t lines_logged;    /* 64-byte lines that changed in them */
    uint64_t log_bytes;       /* written to the log, headers included */
    uint64_t data_bytes;      /* written to the file */
    uint64_t fences;          /* store fences */
    uint64_t lines_undone;    /* by recovery when the file was mapped */
    uint64_t recovered_epoch; /* the last commit found when the file was mapped */
    uint64_t log_file_bytes;  /* present size of the log file */
    uint64_t lines_replayed;  /* by recovery when the file was mapped */
    uint64_t lines_untracked; /* found by SNAPSHOT_CHECK: written but never announced */
};

/*
 * Map the whole of `path` at `hint` (NULL: where it was last time), created or extended to `bytes` first; bytes = 0
 * takes the file's size. Another address is used if that one is not free, unless SNAPSHOT_FIXED. Returns 0 and the
 * address of the working copy, or -errno: EBUSY it is mapped already, here or in another process, or locked with
 * flock(); EUCLEAN the log is damaged; ESTALE the log belongs to another file; EMLINK it has several names; ENOENT its
 * name went to another file meanwhile; EINVAL it is empty, the log is of another version or byte order, or of a file of
 * another size, there is no such protocol or tracker, or the protocol cannot commit pages; EOPNOTSUPP the kernel has
 * not what SNAPSHOT_TRACK_UFFD needs; EPERM the process may not use it; EFBIG it is larger than 256 GiB; EEXIST see
 * SNAPSHOT_FIXED; EMFILE 32 files are mapped; and whatever open, ftruncate and mmap return.
 */
int snapshot_map(const char *path, size_t bytes, unsigned flags, void *hint, void **address);

/*
 * Make everything stored so far durable, atomically. 0, or -ENOSPC if the log cannot grow (nothing was changed: free
 * some space and call again, or roll back), -EUCLEAN if the protocol undo-nv finds its log damaged (nothing was
 * changed), -EINVAL if address is not a mapped snapshot, or what the kernel says if it cannot tell which pages have
 * changed (nothing was changed either).
 */
int snapshot_sync(void *address);

/*
 * Give the file another size, at least 1: at once and for good. The address stays. Growing leaves the transaction open;
 * new bytes are zero. Cutting commits it first. 0, -EFBIG if the addresses kept for the file do not suffice (twice the
 * size it was mapped with, at least 1 GiB), -EBADF if it was not mapped with snapshot_map, -EINVAL, or what
 * snapshot_sync and ftruncate return.
 */
int snapshot_resize(void *address, size_t bytes);

/*
 * Take the working copy back to the last commit. 0, -EINVAL, or -EUCLEAN if the log is damaged and nothing else has
 * what is to come back: nothing was changed, and the next commit takes the working copy as it is.
 */
int snapshot_rollback(void *address);

/*
 * Unmap, discarding what was not committed. 0, -EINVAL, or -EUCLEAN if the log is damaged and nothing else has what was
 * committed: the file is unmapped all the same, and it and its log are left as a crash would leave them.
 */
int snapshot_unmap(void *address);

/* Announce that [address, address + bytes) is about to be written by code the compiler pass has not seen. */
void snapshot_log_range(const void *address, size_t bytes);

/* 0 or -EINVAL. In a forked child: those of the parent at the fork. */
int snapshot_get_stats(const void *address, struct snapshot_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
