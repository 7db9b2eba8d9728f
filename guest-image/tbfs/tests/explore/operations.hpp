// SPDX-License-Identifier: BSD-3-Clause
//
// What is explored: one or two of these operations on a small tree. With pages' logs there are more of both.
#pragma once

#include <vector>

#include "operation.hpp"

extern const std::vector<Operation> preparation, operations, hybrid_preparation, hybrid_operations, idle_operations;

// On open files without a name, and calls that take the blocks and inodes that these free.
extern const std::vector<Operation> orphan_preparation, one_open, three_open, orphan_operations;

// Of a file that exists, page by page in calls of their own. With `cow` each takes a block that is free and changes
// only one pointer, so that no log entry replaces those of an earlier call.
constexpr uint64_t OverwrittenPages = 14;
std::vector<Operation> overwrites();

// Sequences in one mount in which a call stores, or frees, where the redo log would store the last transaction again.
extern const std::vector<std::vector<Operation>> yielding;
