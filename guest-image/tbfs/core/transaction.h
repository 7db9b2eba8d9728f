/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * A transaction collects what is to change and then commits all of it or nothing. Until then nothing that is reachable
 * has changed, so a call that fails halfway only forgets it.
 */
#ifndef TBFS_TRANSACTION_H
#define TBFS_TRANSACTION_H

#include "format.h"
#include "port.h"

struct tbfs;

#define TBFS_BLOCKS_PER_TRANSACTION 128u

/* Up to 48 bytes: what one log entry holds. */
struct tbfs_piece {
    uint8_t *target;
    size_t bytes;
    uint8_t content[TBFS_ENTRY_DATA_BYTES];
};

struct tbfs_inode_copy {
    uint64_t ino;
    struct tbfs_inode inode;
};

/* A change of 128 blocks, of which every second one may be there already, of two leaves and the nodes above them. */
#define TBFS_PIECES_MAX 104u
#define TBFS_INODES_MAX 6u
#define TBFS_NODES_MAX 12u
/* A call logs two pages at most, its first and its last; of one no more than 16 blocks of 512 bytes. */
#define TBFS_LOG_BLOCKS_MAX 32u
#define TBFS_TAKEN_MAX (TBFS_BLOCKS_PER_TRANSACTION + TBFS_NODES_MAX + TBFS_LOG_BLOCKS_MAX)

struct tbfs_transaction {
    struct tbfs_piece pieces[TBFS_PIECES_MAX];
    struct tbfs_inode_copy inodes[TBFS_INODES_MAX];
    uint64_t taken[TBFS_TAKEN_MAX]; /* blocks; a log's one is written as a slot */
    uint64_t given[TBFS_BLOCKS_PER_TRANSACTION], nodes[TBFS_NODES_MAX];
    unsigned piece_count, inode_count, taken_count, given_count, node_count;
    uint64_t inode_taken;
    bool has_new_bytes; /* stores that are to be durable before what makes them reachable */
};

struct tbfs_journal {
    struct tbfs_journal_header *header;
    struct tbfs_entry *entries;
    uint32_t capacity, head, tail, next, transaction;
    uint16_t generation;
    bool redo;                     /* what is from head to tail is to be stored again */
    uint64_t redo_begin, redo_end; /* of that, the part in blocks lies between these offsets */
};

/* Before all else of a call that changes something. -EROFS: nothing may be. */
int tx_begin(const struct tbfs *fs);

/* The copy that the commit compares with the medium and writes. */
struct tbfs_inode *tx_inode(struct tbfs *fs, uint64_t ino);

/* A word that is reachable, aligned to 8; in a node that this transaction has made it is stored at once. */
void tx_write8(struct tbfs *fs, void *target, uint64_t value);
void tx_write(struct tbfs *fs, void *target, const void *source, size_t bytes);
uint64_t tx_load8(const struct tbfs *fs, const void *target);

/* Blocks and inode numbers that are in use if it commits, free if not. 0: none is free. */
uint64_t tx_take_block(struct tbfs *fs, uint64_t wanted); /* the wanted number if it is free, 0: any */
uint64_t tx_take_node(struct tbfs *fs);
uint64_t tx_take_inode(struct tbfs *fs);
uint64_t tx_take_log_block(struct tbfs *fs, uint64_t bytes);

/* A page's slot: what it leads to is free once it has committed. */
void tx_give_page(struct tbfs *fs, uint64_t slot);

/* What a block that is not reachable yet, or bytes beyond a file's end, were given. */
void tx_new_bytes(struct tbfs *fs);

/* -EUCLEAN: a rule of the core was broken, and nothing reachable has changed. */
int tx_commit(struct tbfs *fs);
int tx_forget(struct tbfs *fs, int status); /* returns the status, or -EUCLEAN as above */

#endif
