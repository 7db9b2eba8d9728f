// SPDX-License-Identifier: BSD-3-Clause
//
// The possible content of a file system's folder after a power cut: any part of the unsynchronised changes. The model:
//
//  - A name (made, removed, moved) is as before or after, each for itself, until the folder is synchronised; moving one
//    over another is one step. POSIX promises no more.
//  - A size, and data written by system calls, is as before or after until the file itself is synchronised.
//  - A line stored through a mapping is durable with the next fence, as MAP_SYNC promises on DAX; but if the size is
//    not durable, data behind it is gone: the model does not assume that the fault of such a mapping makes the size
//    durable too.
//  - Ordered: names and sizes are as after some number of steps, and any synchronisation makes all before it durable.
//    So do the journals of ext4 and XFS (Pillai et al., OSDI 2014, table 1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

// Files by number, and their names.
struct Disk {
    std::map<std::string, unsigned> names;
    std::map<unsigned, std::string> files;
    bool operator==(const Disk &) const = default;
};

// Which of the states of a story may be found from here on, and how.
struct Promise {
    size_t oldest = 0, youngest = 0;
    unsigned flags = 0;       // to open it with
    bool is_none = false;     // anything may be found, and nothing
    bool may_be_gone = false; // there need not be a file
    bool operator==(const Promise &) const = default;
};

struct DiskEvent {
    enum Kind { Name, Move, Size, Line, Written, Fence, SyncFile, SyncFolder, Say } kind;
    unsigned file = 0;    // of Name: 0 removes it
    std::string name, to; // Move: from the one to the other
    uint64_t at = 0;      // Size: bytes; Line, Written: where
    std::array<char, 64> content{};
    Promise promise{};

    bool isStep() const { return kind == Name || kind == Move || kind == Size; }
    bool isContent() const { return kind == Line || kind == Written; }
};

using DiskEvents = std::vector<DiskEvent>;

// After the first `count` events, all of which happened: the content that a process finds then.
Disk diskAfter(const Disk &base, const DiskEvents &events, size_t count);

Promise promiseAt(const DiskEvents &events, size_t count);

// The states that a power cut may leave when the first `count` events were issued: every subset of the names and sizes
// that are not durable, or if there are more than six of them none, all, all but one, each alone and some at random;
// with each none, all and two random parts of the content that is not durable.
void forEachCut(const Disk &base, const DiskEvents &events, size_t count, bool is_ordered,
                const std::function<void(const Disk &)> &visit);
