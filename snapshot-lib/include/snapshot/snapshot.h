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
 *  - Only code compiled with the pass is tracked, plus the libc writers of docs/reference/snapshot-writers.md. Call
 *    snapshot_log_range() before anything else writes to the mapping.
 *  - msync() commits all stores that happened before it, on every thread, at once. A store of another thread that runs
 *    beside it is in this commit or in the next. The program must order its commits, and stores that belong together.
 *  - The log file `<file>.snapshot-log` lies beside the data file and belongs to it: move both. A copy of both needs
 *    SNAPSHOT_ADOPT. The log may be deleted after a clean end, but not after a crash.
 *  - Uncommitted stores are discarded when a process stops using the file: with the last munmap() and the last close()
 *    of a descriptor, whichever is later, and at exit. SNAPSHOT_CHECK=1 reports the loss.
 *  - A forked child has a private copy of each mapping. It may unmap it and read the statistics; its other calls fail
 *    with EPERM.
 *  - No call here is async-signal-safe, and a signal handler must not store to a mapping.
 *
 * docs/reference/snapshot-calls.md has a table of the meaning of mmap, msync, munmap, mremap, ftruncate, read, write,
 * fork and others.
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Allocate all blocks and touch every page of file and log now, so that no later store causes a page fault. */
#define SNAPSHOT_POPULATE 1u
/* Map at the hint or, without a hint, at the last address of the file; -EEXIST if that range is not free. */
#define SNAPSHOT_FIXED 2u
/* File and log are copies of a pair that belonged together. Without this flag such copies fail with -ESTALE. */
#define SNAPSHOT_ADOPT 4u

/*
 * One of these flags selects the commit protocol (docs/explanation/commit-protocols.md compares them). Without one, the
 * environment variable SNAPSHOT_PROTOCOL selects it (line, undo, undo-nv, redo), else the default applies. Each opening
 * of a file may use another protocol.
 */
#define SNAPSHOT_PROTOCOL_LINE (1u << 8)
#define SNAPSHOT_PROTOCOL_UNDO (2u << 8)
#define SNAPSHOT_PROTOCOL_UNDO_NV (3u << 8)
#define SNAPSHOT_PROTOCOL_REDO (4u << 8)
#define SNAPSHOT_PROTOCOL_MASK (15u << 8)

/*
 * One of these flags selects how stores are detected. Without one, the environment variable SNAPSHOT_TRACK selects it
 * (uffd, mprotect, pass), else uffd applies. The first two detect whole pages, need no compiler pass, and commit by the
 * protocol redo only. These two are in libsnapshot-pages; libsnapshot, which has the pass alone, treats them as unknown
 * protocols and rejects them.
 */
#define SNAPSHOT_TRACK_UFFD (8u << 8)
#define SNAPSHOT_TRACK_MPROTECT (8u << 8 | 1u << 12)
#define SNAPSHOT_TRACK_PASS (1u << 13)

struct snapshot_stats {
    uint64_t commits;         /* msync calls that had something to commit */
    uint64_t lines_logged;    /* 64-byte lines that changed in these commits */
    uint64_t log_bytes;       /* written to the log, headers included */
    uint64_t data_bytes;      /* written to the file */
    uint64_t fences;          /* store fences */
    uint64_t lines_undone;    /* by recovery when the file was mapped */
    uint64_t recovered_epoch; /* the last commit found when the file was mapped */
    uint64_t log_file_bytes;  /* current size of the log file */
    uint64_t lines_replayed;  /* by recovery when the file was mapped */
    uint64_t lines_untracked; /* found by SNAPSHOT_CHECK: written but never announced */
};

/*
 * Map all of `path` at `hint` (NULL: at its last address). The file is first created, or extended to `bytes`; bytes = 0
 * keeps its size. If the address is not free, another one is used, unless SNAPSHOT_FIXED is given. Returns 0 and the
 * address of the working copy, or -errno: EBUSY the file is mapped already, by this or another process, or locked with
 * flock(); EUCLEAN the log is damaged; ESTALE the log belongs to another file; EMLINK the file has several names;
 * ENOENT its name refers to another file by now; EINVAL the file is empty, the log is of another version or byte order,
 * or of a file of another size, there is no such protocol or tracker, or the protocol cannot commit pages; EOPNOTSUPP
 * the kernel lacks a feature that SNAPSHOT_TRACK_UFFD needs; EPERM the process may not use it; EFBIG the file is larger
 * than 256 GiB; EEXIST see SNAPSHOT_FIXED; EMFILE 32 files are mapped; and all errors of open, ftruncate and mmap.
 */
int snapshot_map(const char *path, size_t bytes, unsigned flags, void *hint, void **address);

/*
 * Make everything stored so far durable, atomically. Returns 0, or -ENOSPC if the log cannot grow (nothing was changed:
 * free some space and call again, or roll back), -EUCLEAN if the protocol undo-nv finds its log damaged (nothing was
 * changed), -EINVAL if address is not a mapped snapshot, or the kernel's error if it cannot tell which pages have
 * changed (nothing was changed either).
 */
int snapshot_sync(void *address);

/*
 * Change the size of the file, to at least 1 byte. The change is immediate and not part of a transaction. The address
 * stays. Growing leaves the transaction open; new bytes are zero. Cutting commits the transaction first. Returns 0,
 * -EFBIG if the addresses reserved for the file do not suffice (twice the size it was mapped with, at least 1 GiB),
 * -EBADF if the file was not mapped with snapshot_map, -EINVAL, or an error of snapshot_sync or ftruncate.
 */
int snapshot_resize(void *address, size_t bytes);

/*
 * Return the working copy to the last commit. Returns 0, -EINVAL, or -EUCLEAN if the log is damaged and nothing else
 * contains the committed content: nothing was changed, and the next commit includes the working copy as it is.
 */
int snapshot_rollback(void *address);

/*
 * Unmap, discarding uncommitted stores. Returns 0, -EINVAL, or -EUCLEAN if the log is damaged and nothing else contains
 * the committed content: the file is unmapped all the same, and the file and its log stay as a crash would leave them.
 */
int snapshot_unmap(void *address);

/* Announce that code which the compiler pass has not seen is about to write [address, address + bytes). */
void snapshot_log_range(const void *address, size_t bytes);

/* Returns 0 or -EINVAL. A forked child reads the numbers of its parent at the fork. */
int snapshot_get_stats(const void *address, struct snapshot_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
