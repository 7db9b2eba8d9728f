// SPDX-License-Identifier: BSD-3-Clause
//
// The list and the B-tree are filled with items 0 to n-1, one commit each, and then emptied in the same order. The
// number of commits therefore determines their content.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "options.hpp"
#include "random.hpp"

namespace workloads {

struct LiveRange {
    uint64_t begin, end;

    LiveRange(uint64_t items, uint64_t commits)
        : begin(commits > items ? commits - items : 0), end(std::min(items, commits)) {
        if (begin > end)
            throw std::runtime_error("the pool has seen more commits than the workload makes");
    }
    uint64_t size() const { return end - begin; }
};

// The value of item `i`.
inline uint64_t itemValue(uint64_t i, uint64_t seed) { return splitmix64(seed ^ splitmix64(i)); }

} // namespace workloads
