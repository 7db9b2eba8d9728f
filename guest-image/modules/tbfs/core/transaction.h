/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * A transaction collects changes and then commits all of them or none. Before the commit nothing reachable has changed,
 * so a call that fails halfway only drops the transaction.
 */
#ifndef TBFS_TRANSACTION_H
#define TBFS_TRANSACTION_H

#include "format.h"
#include "port.h"

struct tbfs;

#define TBFS_BLOCKS_PER_TRANSACTION 128u

/* Up to 48 bytes: the content of one journal entry. */
struct tbfs_piece {
    uint8_t *target;
    size_t bytes;
    uint8_t content[TBFS_ENTRY_DATA_BYTES];
};

struct tbfs_inode_copy {
    uint64_t ino;
    struct tbfs_inode inode;
};

/* Sizes for a change of 128 blocks in two leaves and the nodes above them. Every second block may exist already, so
 * that the changed slots are not adjacent. */
#define TBFS_PIECES_MAX 104u
#define TBFS_INODES_MAX 6u
#define TBFS_NODES_MAX 12u
/* A call logs at most two pages, its first and its last, with at most 16 blocks of 512 bytes each. */
#define TBFS_LOG_BLOCKS_MAX 32u
#define TBFS_TAKEN_MAX (TBFS_BLOCKS_PER_TRANSACTION + TBFS_NODES_MAX + TBFS_LOG_BLOCKS_MAX)

struct tbfs_transaction {
    struct tbfs_piece pieces[TBFS_PIECES_MAX];
    struct tbfs_inode_copy inodes[TBFS_INODES_MAX];
    uint64_t taken[TBFS_TAKEN_MAX]; /* blocks; a block of a log as a slot */
    uint64_t given[TBFS_BLOCKS_PER_TRANSACTION], nodes[TBFS_NODES_MAX];
    unsigned piece_count, inode_count, taken_count, given_count, node_count;
    uint64_t inode_taken;
    bool has_new_bytes; /* some stores must be durable before the change that makes them reachable */
};

struct tbfs_journal {
    struct tbfs_journal_header *header;
    struct tbfs_entry *entries;
    uint32_t capacity, head, tail, next, transaction;
    uint16_t generation;
    bool redo;                     /* recovery would store the entries from head to tail again */
    uint64_t redo_begin, redo_end; /* bounds of the targets of these entries in blocks */
};

/* The first step of every call that changes something. -EROFS: changes are not allowed. */
int tx_begin(const struct tbfs *fs);

/* The transaction's copy of an inode. The commit compares the copy with the medium, and writes the differences. */
struct tbfs_inode *tx_inode(struct tbfs *fs, uint64_t ino);

/* Changes a reachable word, aligned to 8. A word in a node that this transaction has made is stored at once. */
void tx_write8(struct tbfs *fs, void *target, uint64_t value);
void tx_write(struct tbfs *fs, void *target, const void *source, size_t bytes);
uint64_t tx_load8(const struct tbfs *fs, const void *target);

/* Take blocks and inode numbers: in use if the transaction commits, free if not. 0: nothing is free. */
uint64_t tx_take_block(struct tbfs *fs, uint64_t wanted); /* number `wanted` if it is free, else any */
uint64_t tx_take_node(struct tbfs *fs);
uint64_t tx_take_inode(struct tbfs *fs);
uint64_t tx_take_log_block(struct tbfs *fs, uint64_t bytes);

/* The block and the log of this slot are free once the transaction has committed. */
void tx_give_page(struct tbfs *fs, uint64_t slot);

/* Records that an unreachable block, or bytes beyond a file's end, were written: the commit fences them first. */
void tx_new_bytes(struct tbfs *fs);

/* -EUCLEAN: an invariant is broken. Nothing reachable has changed, unless the release of freed pages broke it. */
int tx_commit(struct tbfs *fs);
int tx_forget(struct tbfs *fs, int status); /* returns the status, or -EUCLEAN as above */

#endif
