// SPDX-License-Identifier: BSD-3-Clause
//
// The explored operations, and the small tree that they work on. With logs of pages there are more of both.
#pragma once

#include <vector>

#include "operation.hpp"

extern const std::vector<Operation> preparation, operations, hybrid_preparation, hybrid_operations, idle_operations;

// Operations on open files without a name, and calls that take the blocks and inodes that these files free.
extern const std::vector<Operation> orphan_preparation, one_open, three_open, orphan_operations;

// Overwrites an existing file page by page, in separate calls. With `cow` each call takes a free block and changes only
// one pointer, so that no journal entry replaces the entries of an earlier call.
constexpr uint64_t OverwrittenPages = 14;
std::vector<Operation> overwrites();

// Sequences in one mount in which a call stores to, or frees, a place where recovery would store the last transaction
// again.
extern const std::vector<std::vector<Operation>> yielding;
