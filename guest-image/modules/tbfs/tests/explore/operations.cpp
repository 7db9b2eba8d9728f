// SPDX-License-Identifier: BSD-3-Clause
#include "operations.hpp"

using enum Operation::Kind;

const std::vector<Operation> preparation = {
    {.kind = Mkdir, .path = "/d"},
    {.kind = Mkdir, .path = "/d/sub"},
    {.kind = Mkdir, .path = "/e"},
    {.kind = Create, .path = "/f"},
    {.kind = Write, .path = "/f", .bytes = 100, .fill = 'f'},
    {.kind = Create, .path = "/g"},
    {.kind = Write, .path = "/g", .bytes = 9000, .fill = 'g'},
    {.kind = Link, .path = "/g", .other = "/d/h"},
    {.kind = Create, .path = "/d/i"},
    {.kind = Symlink, .path = "/s", .other = "d/i"},
};

const std::vector<Operation> operations = {
    {.kind = Create, .path = "/n"},
    {.kind = Create, .path = "/d/sub/n"},
    {.kind = Mkdir, .path = "/m"},
    {.kind = Symlink, .path = "/t", .other = "somewhere"},
    {.kind = Link, .path = "/f", .other = "/d/f2"},
    {.kind = Unlink, .path = "/f"},
    {.kind = Unlink, .path = "/g"},
    {.kind = Unlink, .path = "/d/h"},
    {.kind = Unlink, .path = "/s"},
    {.kind = Unlink, .path = "/f", .flags = 1, .offset = 17},
    {.kind = Rmdir, .path = "/e"},
    {.kind = Rmdir, .path = "/d/sub"},
    {.kind = Rename, .path = "/f", .other = "/a name that is longer"},
    {.kind = Rename, .path = "/f", .other = "/d/i"},
    {.kind = Rename, .path = "/g", .other = "/f"},
    {.kind = Rename, .path = "/d/sub", .other = "/e/sub"},
    {.kind = Rename, .path = "/d/sub", .other = "/e"},
    {.kind = Rename, .path = "/f", .other = "/d/h", .flags = TBFS_RENAME_EXCHANGE},
    {.kind = Rename, .path = "/f", .other = "/d/sub", .flags = TBFS_RENAME_EXCHANGE},
    {.kind = Rename, .path = "/f", .other = "/n", .flags = TBFS_RENAME_NOREPLACE},
    {.kind = Write, .path = "/f", .offset = 0, .bytes = 24, .fill = 'A'},
    {.kind = Write, .path = "/f", .offset = 13, .bytes = 40, .fill = 'B'},
    {.kind = Write, .path = "/f", .offset = 100, .bytes = 45, .fill = 'C'},
    {.kind = Write, .path = "/f", .offset = 64, .bytes = 67, .fill = 'D'},
    {.kind = Write, .path = "/f", .offset = 300, .bytes = 20, .fill = 'E'},
    {.kind = Write, .path = "/f", .offset = 5003, .bytes = 100, .fill = 'F'},
    {.kind = Write, .path = "/g", .offset = 4090, .bytes = 21, .fill = 'G'},
    {.kind = Write, .path = "/g", .offset = 4096, .bytes = 4096, .fill = 'H'},
    {.kind = Write, .path = "/g", .offset = 8190, .bytes = 5001, .fill = 'I'},
    {.kind = Write, .path = "/d/i", .offset = 600 * 4096, .bytes = 9, .fill = 'J'},
    {.kind = Truncate, .path = "/g", .offset = 4096},
    {.kind = Truncate, .path = "/g", .offset = 99},
    {.kind = Truncate, .path = "/g", .offset = 0},
    {.kind = Truncate, .path = "/f", .offset = 9000},
    {.kind = Fallocate, .path = "/f", .offset = 0, .bytes = 9000},
    {.kind = Fallocate, .path = "/f", .flags = TBFS_KEEP_SIZE, .offset = 4096, .bytes = 8192},
    {.kind = Fallocate, .path = "/g", .flags = TBFS_KEEP_SIZE | TBFS_PUNCH_HOLE, .offset = 4096, .bytes = 4096},
    {.kind = Fallocate, .path = "/g", .flags = TBFS_KEEP_SIZE | TBFS_PUNCH_HOLE, .offset = 50, .bytes = 8200},
    {.kind = SetMode, .path = "/f", .flags = 0600},
    {.kind = Touch, .path = "/g"},
};

// Logs of several overlapping entries: of two blocks of 512 bytes (/f), and of nearly one block of 4096 bytes (/g).
const std::vector<Operation> hybrid_preparation = {
    {.kind = Write, .path = "/f", .offset = 20, .bytes = 150, .fill = 'p'},
    {.kind = Write, .path = "/f", .offset = 60, .bytes = 150, .fill = 'q'},
    {.kind = Write, .path = "/f", .offset = 10, .bytes = 33, .fill = 'r'},
    {.kind = Write, .path = "/g", .offset = 201, .bytes = 1900, .fill = 's'},
    {.kind = Write, .path = "/g", .offset = 300, .bytes = 1900, .fill = 't'},
};

const std::vector<Operation> hybrid_operations = {
    {.kind = Read, .path = "/f", .bytes = 9000},
    {.kind = Read, .path = "/g", .bytes = 9000},
    {.kind = Read, .path = "/g", .offset = 250, .bytes = 100},
    {.kind = Write, .path = "/f", .offset = 41, .bytes = 7, .fill = 'K'},
    {.kind = Write, .path = "/g", .offset = 1001, .bytes = 400, .fill = 'L'},
    {.kind = Write, .path = "/g", .offset = 0, .bytes = 4096, .fill = 'M'},
    {.kind = Write, .path = "/g", .offset = 0, .bytes = 8192, .fill = 'R'},
    {.kind = Write, .path = "/g", .offset = 4000, .bytes = 200, .fill = 'N'},
    {.kind = Write, .path = "/g", .offset = 4000, .bytes = 5100, .fill = 'O'},
    {.kind = Write, .path = "/g", .offset = 100, .bytes = 3001, .fill = 'P'},
    {.kind = Write, .path = "/g", .offset = 8900, .bytes = 300, .fill = 'Q'},
    {.kind = Truncate, .path = "/g", .offset = 450},
    {.kind = Fallocate, .path = "/g", .flags = TBFS_KEEP_SIZE | TBFS_PUNCH_HOLE, .offset = 250, .bytes = 77},
};

// Steps until the first merge, and steps until nothing is left to merge.
const std::vector<Operation> idle_operations = {
    {.kind = MergeSome, .bytes = 2},
    {.kind = MergeSome, .bytes = 9},
};

// A file of one page, one with a node, and one with blocks behind its end; and a file that overwrites() changes.
const std::vector<Operation> orphan_preparation = {
    {.kind = Create, .path = "/o1"},
    {.kind = Write, .path = "/o1", .bytes = 3000, .fill = '1'},
    {.kind = Create, .path = "/o2"},
    {.kind = Write, .path = "/o2", .bytes = 5 * 4096 + 100, .fill = '2'},
    {.kind = Write, .path = "/o2", .offset = 50, .bytes = 200, .fill = '4'},
    {.kind = Create, .path = "/o3"},
    {.kind = Write, .path = "/o3", .bytes = 9000, .fill = '3'},
    {.kind = Fallocate, .path = "/o3", .flags = TBFS_KEEP_SIZE, .offset = 12288, .bytes = 8192},
    {.kind = Create, .path = "/r"},
    {.kind = Write, .path = "/r", .bytes = OverwrittenPages * 4096, .fill = 'R'},
};

// Includes a cut, as a second cut of the file to the same size changes fewer fields than the first.
const std::vector<Operation> one_open = {
    {.kind = Unlink, .path = "/o2", .stays_open = true},
    {.kind = Truncate, .path = "@/o2", .offset = 4096},
    {.kind = Write, .path = "@/o2", .bytes = 5 * 4096, .fill = '5'},
};

const std::vector<Operation> three_open = {
    {.kind = Unlink, .path = "/o2", .stays_open = true},
    {.kind = Unlink, .path = "/o1", .stays_open = true},
    {.kind = Unlink, .path = "/o3", .stays_open = true},
};

std::vector<Operation> overwrites() {
    std::vector<Operation> all = {{.kind = Touch, .path = "/r"}};
    for (uint64_t page = 0; page < OverwrittenPages; page++)
        all.push_back({.kind = Write, .path = "/r", .offset = page * 4096, .bytes = 4096, .fill = 'S'});
    return all;
}

const std::vector<Operation> orphan_operations = {
    {.kind = Unlink, .path = "/f", .stays_open = true},
    {.kind = Rename, .path = "/d/i", .other = "/f", .stays_open = true},
    {.kind = Rmdir, .path = "/e", .stays_open = true},
    {.kind = Truncate, .path = "@/o1", .offset = 0},
    {.kind = Truncate, .path = "@/o2", .offset = 0},
    {.kind = Truncate, .path = "@/o2", .offset = 4096},
    {.kind = Truncate, .path = "@/o2", .offset = 30000},
    {.kind = Truncate, .path = "@/o3", .offset = 9000},
    {.kind = Write, .path = "@/o1", .offset = 0, .bytes = 4096, .fill = 'a'},
    {.kind = Write, .path = "@/o1", .offset = 600 * 4096, .bytes = 9, .fill = 'b'},
    {.kind = Write, .path = "@/o2", .offset = 0, .bytes = 5 * 4096, .fill = 'c'},
    {.kind = Write, .path = "@/o2", .offset = 4096, .bytes = 4096, .fill = 'd'},
    {.kind = Write, .path = "@/o2", .offset = 60, .bytes = 90, .fill = 'e'},
    {.kind = Fallocate, .path = "@/o2", .flags = TBFS_KEEP_SIZE | TBFS_PUNCH_HOLE, .offset = 0, .bytes = 8192},
    {.kind = Fallocate, .path = "@/o3", .offset = 0, .bytes = 20000},
    {.kind = Read, .path = "@/o2", .bytes = 30000},
    {.kind = Close, .path = "@/o1"},
    {.kind = Close, .path = "@/o2"},
    {.kind = Close, .path = "@/o3"},
    {.kind = Create, .path = "/n"},
    {.kind = Write, .path = "/n", .bytes = 4096, .fill = 'h'},
    {.kind = Mkdir, .path = "/m"},
    {.kind = Write, .path = "/d/i", .bytes = 5 * 4096, .fill = 'i'},
};

// Directory entries: a rename within a directory splits the entry with the old name, so the journal contains the length
// of an entry that is free afterwards. Names grow from call to call, so that no name fits into an entry that an earlier
// call has freed. 16 bytes of an entry hold 4 bytes of a name.
const std::vector<std::vector<Operation>> yielding = {
    {
        {.kind = Create, .path = "/e/a", .now = 2400},
        {.kind = Rename, .path = "/e/a", .other = "/e/bb", .now = 2500},
        {.kind = Create, .path = "/e/cc"}, // into the free entry; the journal contains its length
    },
    {
        {.kind = Create, .path = "/e/a", .now = 2400},
        {.kind = Rename, .path = "/e/a", .other = "/e/of 13 bytes..", .now = 3000},
        {.kind = Rename, .path = "/e/of 13 bytes..", .other = "/e/of 37 bytes..........................", .now = 3000},
        {.kind = Rename, // past two free entries, which are merged; the journal contains the length of the first
         .path = "/e/of 37 bytes..........................",
         .other = "/e/of 61 bytes.................................................."},
    },
    {
        {.kind = Create, .path = "/e/1", .now = 3000},
        {.kind = Create, .path = "/e/2", .now = 3000},
        {.kind = Create, .path = "/e/w", .now = 3000},
        {.kind = Create, .path = "/e/f", .now = 3000}, // at the end of a line
        {.kind = Create, .path = "/e/x", .now = 3000},
        {.kind = Unlink, .path = "/e/f", .now = 3000},
        {.kind = Rename, .path = "/e/x", .other = "/x", .now = 3000},
        {.kind = Rename, .path = "/e/w", .other = "/e/of 13 bytes.."}, // one store, over a word in the journal
    },
    {
        {.kind = Create, .path = "/e/o", .now = 3000},
        {.kind = Write, .path = "/e/o", .offset = 8192, .bytes = 10, .fill = 'o', .now = 3000},
        {.kind = Unlink, .path = "/e/o", .now = 3000, .stays_open = true},
        {.kind = Truncate, .path = "@/e/o", .offset = 5000, .now = 3000},
        {.kind = Truncate, .path = "@/e/o", .offset = 20000, .now = 3000},
        {.kind = Write, .path = "@/e/o", .offset = 12288, .bytes = 10, .fill = 'p', .now = 3000},
        {.kind = Fallocate, .path = "@/e/o", .flags = TBFS_KEEP_SIZE, .bytes = 4096, .now = 3000},
        {.kind = Truncate, .path = "@/e/o", .offset = 5000}, // the same size again: one store, of the size alone
    },
    {
        {.kind = Write, .path = "/f", .offset = 41, .bytes = 7, .fill = 'K', .now = 2900},
        {.kind = Read, .path = "/f", .bytes = 100, .now = 2900}, // merges and frees the page's log
        {.kind = SetMode, .path = "/f", .flags = 0600},          // in one store, over words that the journal contained
    },
};
