// SPDX-License-Identifier: BSD-3-Clause
//
// The possible contents of a folder after a power cut, by the system calls and stores that preceded it. A change is a
// name (made, removed, moved), a size, or the content of one place of a file:
//
//  - Each change is there or not, independently of all others, until it is synchronised. Moving one name over another
//    is one change. Of the changes to one place of a file, some of the first are there.
//  - fsync() of a file makes its size and content durable, msync() its content, fsync() of the folder all names.
//  - A line stored through a mapping is durable with the next fence, as MAP_SYNC promises on DAX. But if the size is
//  not
//    durable, data behind it is gone: the model does not assume that the fault of such a mapping makes the size durable
//    too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "choices.hpp"

// Files by number, and their names.
struct Folder {
    std::map<std::string, unsigned> names;
    std::map<unsigned, std::string> files;
    bool operator==(const Folder &) const = default;
};

struct FolderEvent {
    enum Kind { Name, Move, Size, Stored, Written, Fence, SyncContent, SyncFile, SyncFolder, Mark } kind;
    unsigned file = 0;     // Name: 0 removes it
    std::string name = {}; // Name, and Move: the old one
    std::string to = {};   // Move: the new name
    uint64_t at = 0;       // Size: bytes. Stored, Written: the offset. Mark: of the explorer's own
    std::string content = {};

    bool isStep() const { return kind == Name || kind == Move || kind == Size; }
    bool isContent() const { return kind == Stored || kind == Written; }
};

using FolderEvents = std::vector<FolderEvent>;

// When names are durable. Posix: with fsync() of the folder. WithFile: also with fsync() of the file, which ext4 and
// XFS guarantee beyond the standard. Journal: names and sizes are as after some number of changes, and each fsync()
// makes all before it durable; so do the journals of ext4 and XFS (Pillai et al., OSDI 2014, table 1).
enum class NameRule { Posix, WithFile, Journal };

// Each choice of names and sizes is combined with each choice of contents.
struct FolderSampling {
    Sampling steps, content;
};

// After the first `count` events, all of which happened: the content that a process finds then.
Folder folderAfter(const Folder &base, const FolderEvents &events, size_t count);

// Visits the states that a power cut may leave when the first `count` events were issued.
void forEachCut(const Folder &base, const FolderEvents &events, size_t count, NameRule rule,
                const FolderSampling &sampling, const std::function<void(const Folder &)> &visit);
