// SPDX-License-Identifier: BSD-3-Clause
//
// The possible content of a file on persistent memory after a power cut, for programs that store through a mapping and
// make durable with libpmem. Its functions are defined here, in the program, and take the place of the library's. The
// model:
//
//  - Each line of 64 bytes is in memory with some content that it had since it was last made durable, independently of
//    all others: caches write back any line at any time.
//  - A line that was flushed has at least the content of then once its program has drained. A line is never torn.
//
// Stores are seen at the next call of libpmem or look(): the content of a line between two of these is not explored. Of
// one thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

class PmemModel {
  public:
    using Visit = std::function<void(const std::string &bytes)>;

    // The present content of the file is durable. `crash_point` is called before each drain takes effect: the states
    // then include all that a cut since the previous drain could leave.
    PmemModel(std::string path, std::function<void()> crash_point);
    ~PmemModel();
    PmemModel(const PmemModel &) = delete;
    PmemModel &operator=(const PmemModel &) = delete;

    // All states possible now if there are at most `exhaustive`, else `samples` seeded ones and the two extremes.
    void forEachState(size_t exhaustive, size_t samples, const Visit &visit);

    void look();

    // For the interposed functions.
    void flush(const void *address, size_t bytes);
    void drain();

  private:
    static constexpr size_t LineBytes = 64, PageBytes = 4096;
    using Line = std::array<char, LineBytes>;
    struct Pending {
        std::vector<Line> versions; // the first is durable
        size_t flushed = 0;         // the version that the next drain makes durable
    };

    static Line lineAt(const char *address);
    bool locate();
    void lookAtPage(size_t offset);

    std::string path;
    std::function<void()> crash_point;
    const char *memory = nullptr; // where the file is mapped
    std::string durable, seen;
    std::map<size_t, Pending> pending; // by offset
    std::mt19937_64 random{1};
    bool busy = false;
};

// The one that is told; null: none.
extern PmemModel *pmem_model;

// Seeded bugs, to see that they are found: nothing is flushed; drains wait for nothing.
extern bool pmem_bug_no_flush, pmem_bug_no_drain;
