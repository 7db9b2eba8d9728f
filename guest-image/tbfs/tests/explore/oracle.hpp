// SPDX-License-Identifier: BSD-3-Clause
//
// What a crash during one operation may leave: the tree before it or the tree after it, or that after some of its pages
// if each is written alone. Data that are written in place
// may be a mixture, byte by byte, until the operation has returned.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mounted.hpp"
#include "operation.hpp"

struct Snapshot {
    Tree tree;
    uint64_t free_blocks = 0;
    bool operator==(const Snapshot &) const = default;
};

Snapshot snapshotOf(Mounted &mounted);

struct Oracle {
    Snapshot before, after;
    std::vector<Snapshot> steps; // between them
    uint64_t mixed = 0;          // the inode whose bytes may be mixed, 0: none
    bool merges_first = false;   // logs, for room: there may be more of it than before

    Oracle(Snapshot before, std::vector<Snapshot> steps, Snapshot after, const Operation &operation,
           enum tbfs_data data);

    // What is wrong with a state that was recovered; nothing: it is allowed.
    std::optional<std::string> judge(const Snapshot &found, bool has_returned) const;

  private:
    bool isMixture(const Node &found, const std::string &path) const;
    bool isLike(const Snapshot &found, const Snapshot &expected) const;
};
