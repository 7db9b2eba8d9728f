/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * The format on the medium, little-endian. docs/reference/formats.md describes it in tables.
 */
#ifndef TBFS_FORMAT_H
#define TBFS_FORMAT_H

#include "port.h"

#define TBFS_MAGIC 0x5346746473656274u /* "tbesdtFS" */
#define TBFS_VERSION 3u
#define TBFS_BLOCK_BYTES 4096u
#define TBFS_LINE_BYTES 64u
#define TBFS_NAME_BYTES_MAX 255u
#define TBFS_LINKS_MAX 65000u
#define TBFS_JOURNAL_BYTES_MIN 65536u
#define TBFS_ROOT_INODE 1u
#define TBFS_LABEL_BYTES 16u

#define TBFS_HEIGHT_MAX 3u
#define TBFS_FANOUT_BITS 9u
#define TBFS_FANOUT (1u << TBFS_FANOUT_BITS)
#define TBFS_FILE_BYTES_MAX ((uint64_t)TBFS_BLOCK_BYTES << (TBFS_FANOUT_BITS * TBFS_HEIGHT_MAX))

/* Offsets and sizes are in bytes. Static fields come first; the checksum covers only these, with its own field as
 * zero. */
struct tbfs_super {
    uint64_t magic;
    uint32_t version, checksum;
    uint64_t bytes;
    uint64_t journal_offset, journal_bytes;
    uint64_t inode_offset, inode_count;
    uint64_t data_offset;
    char label[TBFS_LABEL_BYTES];
    uint64_t reserved[6];
    /* A separate line, used in the first copy only. */
    uint64_t truncate_head; /* first inode of the truncate list, 0: empty list */
};
#define TBFS_SUPER_STATIC_BYTES 128u

/* One store changes the first three fields. Entries from head to tail may belong to an unfinished transaction. With
 * `redo` they are one committed transaction, and its changes in place may not be durable yet. */
struct tbfs_journal_header {
    uint32_t tail;
    uint16_t generation, redo;
    uint64_t head;
};

enum tbfs_entry_type { TBFS_ENTRY_START = 1, TBFS_ENTRY_COMMIT = 2 }; /* bits */
#define TBFS_ENTRY_DATA_BYTES 48u

/* One line. The generation is written last: an entry is valid if its generation equals the journal's. */
struct tbfs_entry {
    uint64_t offset;
    uint32_t transaction;
    uint16_t generation;
    uint8_t type, size;
    uint8_t content[TBFS_ENTRY_DATA_BYTES]; /* the old content, with `redo` the new one */
};

/* Fields that change together are adjacent: two journal entries hold all up to `reserved2`, and a third one the rest. A
 * free inode has mode 0. */
struct tbfs_inode {
    uint8_t height, block_class;
    uint16_t reserved0;
    uint32_t flags;
    uint64_t root; /* at height 0 the slot of the only page; 0: nothing is mapped, whatever the height */
    uint64_t size;
    uint32_t ctime, mtime;
    uint32_t dtime;
    uint16_t mode, links;
    uint64_t blocks; /* pages and nodes, without logs */

    uint64_t xattr; /* extended attributes: always 0 */
    uint32_t uid, gid;
    uint32_t generation, atime;
    uint32_t rdev, reserved1;
    uint64_t parent; /* of a directory only */
    uint64_t reserved2;

    uint64_t truncate_size, truncate_next; /* valid on the truncate list */
    uint64_t reserved3[2];
};

/*
 * A slot is a pointer of a tree's lowest level, one for each page of a file: 0, a hole; the offset of a block; or, with
 * TBFS_SLOT_LOG, the offset of the first block of the page's log, which points to the page's block. Two bits encode the
 * size of the log's blocks.
 */
#define TBFS_SLOT_LOG 1u
#define TBFS_SLOT_CLASS_SHIFT 1u
#define TBFS_LOG_BLOCK_BYTES_MIN 512u

/*
 * The beginning of each block of a log; entries follow. An end is the offset just after an entry, from which the entry
 * is read backwards. The head commits: bytes behind it belong to no entry.
 */
struct tbfs_log_block {
    uint64_t head;         /* first block only: the end of the newest entry */
    uint64_t page;         /* first block only: the block that is older than all entries, 0: zeros */
    uint64_t prev;         /* the end of the last entry in the previous block, 0: this block is the first */
    uint64_t next;         /* the next block; undefined in the block with the newest entry */
    uint64_t bytes_before; /* of the log, up to `prev`, with the headers of its blocks */
    uint64_t reserved[3];
};

/* The last 8 bytes of an entry. The data are at its beginning. */
struct tbfs_log_entry {
    uint16_t offset, size; /* of the data, in the page */
    uint16_t bytes;        /* of the whole entry: a multiple of 8 */
    uint16_t reserved;
};

/* An entry of a directory. Entries fill each of its blocks. A free entry has inode 0. */
struct tbfs_dirent {
    uint64_t inode;
    uint16_t bytes; /* to the next entry: a multiple of 8 */
    uint8_t name_bytes, type;
    char name[4]; /* the name continues behind the struct */
};
#define TBFS_DIRENT_HEAD_BYTES 12u

_Static_assert(offsetof(struct tbfs_super, truncate_head) == TBFS_SUPER_STATIC_BYTES, "its line");
_Static_assert(sizeof(struct tbfs_journal_header) == 16 && sizeof(struct tbfs_entry) == TBFS_LINE_BYTES, "journal");
_Static_assert(sizeof(struct tbfs_inode) == 128, "two lines");
_Static_assert(offsetof(struct tbfs_inode, xattr) == TBFS_ENTRY_DATA_BYTES, "the first log entry");
_Static_assert(offsetof(struct tbfs_inode, truncate_size) == 2 * TBFS_ENTRY_DATA_BYTES, "the second log entry");
_Static_assert(sizeof(struct tbfs_log_block) == TBFS_LINE_BYTES && sizeof(struct tbfs_log_entry) == 8, "logs");
_Static_assert(offsetof(struct tbfs_dirent, name) == TBFS_DIRENT_HEAD_BYTES, "names follow");

#endif
