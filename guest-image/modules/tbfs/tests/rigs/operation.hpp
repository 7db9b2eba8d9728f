// SPDX-License-Identifier: BSD-3-Clause
//
// One call on a file system, with paths as arguments.
#pragma once

#include <string>
#include <vector>

#include "mounted.hpp"

struct Operation {
    enum Kind {
        Create,
        Mkdir,
        Symlink, // other: the target
        Link,    // path: the file, other: the new name
        Unlink,  // flags: 1, the file is open and is cut to offset before its close
        Rmdir,
        Rename, // flags
        Write,
        Truncate, // to offset
        Fallocate,
        SetMode, // flags: the mode
        Touch,   // sets mtime
        Read,
        MergeSome, // bytes: the most steps of merging in the background
        Close,     // the last close of an open file without a name, which evicts it
    } kind;
    std::string path = {}, other = {};
    unsigned flags = 0;
    uint64_t offset = 0, bytes = 0;
    char fill = 'x'; // of the content of a write
    uint32_t now = 0;
    bool stays_open = false; // a file that loses its last name stays open: its path is "@" and the old path
};

std::string describe(const Operation &operation);

// The content of a write: differs from byte to byte, and from one `fill` to another.
std::string contentOf(const Operation &operation);

int64_t sumOf(const std::string &content);

// An inode number, or -errno.
int64_t resolve(struct tbfs *fs, const std::string &path, const OpenOrphans *orphans = nullptr);

// The result of the call; for a read, a sum over the bytes. A file that loses its last name is evicted, unless it stays
// open and `orphans` is given.
int64_t run(struct tbfs *fs, const Operation &operation, OpenOrphans *orphans = nullptr);
