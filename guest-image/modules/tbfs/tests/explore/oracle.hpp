// SPDX-License-Identifier: BSD-3-Clause
//
// The states that a crash during one operation may leave: the tree before it, the tree after it, or the tree after some
// of its pages if each page is written separately. Data that are written in place may be a mixture of old and new
// bytes, until the operation has returned.
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
    uint64_t mixed = 0;          // the inode that may have mixed bytes, 0: no inode
    bool merges_first = false;   // of logs, for space: more blocks than before may be free

    Oracle(Snapshot before, std::vector<Snapshot> steps, Snapshot after, const Operation &operation,
           enum tbfs_data data);

    // The fault of a recovered state; nothing: the state is allowed.
    std::optional<std::string> judge(const Snapshot &found, bool has_returned) const;

  private:
    bool isMixture(const Node &found, const std::string &path) const;
    bool isLike(const Snapshot &found, const Snapshot &expected) const;
};
