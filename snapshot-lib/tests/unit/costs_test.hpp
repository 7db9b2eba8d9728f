// SPDX-License-Identifier: BSD-3-Clause
//
// The cost of a commit, as the library and as the recorder of its writes count it.
#pragma once

#include <functional>
#include <ostream>

#include "file_test.hpp"

struct Cost {
    uint64_t fences, log_lines, data_lines;
    bool operator==(const Cost &) const = default;
};

inline std::ostream &operator<<(std::ostream &out, const Cost &cost) {
    return out << cost.fences << " fences, " << cost.log_lines << " log, " << cost.data_lines << " data";
}

inline uint64_t upward(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

// A header for ten lines.
inline uint64_t lineBlocks(uint64_t lines) { return lines + upward(lines, 10); }

class Costs : public FileTest {
  protected:
    std::string path(const char *name) const { return directory / name; }

    // The cost of the work and the commits in it, as the library and as the recorder count it.
    static Cost measure(TrackedFile &file, const std::function<void()> &work) {
        Recorder trace;
        struct snapshot_stats before = file.stats();
        recorder = &trace;
        work();
        recorder = nullptr;
        struct snapshot_stats after = file.stats();
        Cost cost = {after.fences - before.fences, (after.log_bytes - before.log_bytes) / 64,
                     (after.data_bytes - before.data_bytes) / 64};
        EXPECT_EQ(cost.fences, trace.fences());
        EXPECT_EQ(cost.log_lines + cost.data_lines, trace.lines());
        return cost;
    }

    static void store(TrackedFile &file, uint64_t first, uint64_t count) {
        for (uint64_t line = first; line < first + count; line++)
            trackedStore(file.working() + 64 * line, line + count);
    }

    static Cost commitCost(TrackedFile &file, uint64_t first, uint64_t count) {
        return measure(file, [&] {
            store(file, first, count);
            EXPECT_EQ(file.commit(), 0);
        });
    }
};
