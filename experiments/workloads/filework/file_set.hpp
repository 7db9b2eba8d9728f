// SPDX-License-Identifier: BSD-3-Clause
//
// The files that there can be, and which of them there are. A thread that picks a file has it alone until it returns
// the file, so its knowledge of the file is right without a lock.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "random.hpp"

namespace workloads {

// Gamma with shape 1.5, as Filebench draws sizes: half the square of a normal number is gamma with shape 0.5, and the
// logarithm of a uniform one with shape 1.
inline uint64_t gammaBytes(Random &random, double mean_bytes) {
    double wave = std::cos(2 * std::numbers::pi * random.unit());
    double gamma = -std::log1p(-random.unit()) * wave * wave - std::log1p(-random.unit());
    return static_cast<uint64_t>(std::lround(gamma * mean_bytes / 1.5));
}

struct WorkFile {
    uint64_t bytes = 0;
    uint64_t tag = 0; // determines the bytes of the file
};

class FileSet {
  public:
    // Of the files, 8 of 10 are there at the begin, spread evenly.
    static constexpr uint64_t PresentOf10 = 8;

    explicit FileSet(uint64_t size) : states(size), files(size) {
        for (uint64_t file = 0; file < size; file++)
            states[file] = isPreallocated(file) ? Present : Absent;
    }

    static bool isPreallocated(uint64_t file) { return file % 10 < PresentOf10; }

    uint64_t size() const { return files.size(); }
    WorkFile &operator[](uint64_t file) { return files[file]; }
    const WorkFile &operator[](uint64_t file) const { return files[file]; }
    bool isPresent(uint64_t file) const { return states[file] == Present; }

    // Any one that is there, or is not there, and that no other thread has.
    uint64_t takePresent(Random &random) { return take(random, Present); }
    uint64_t takeAbsent(Random &random) { return take(random, Absent); }

    void giveBack(uint64_t file, bool present) {
        states[file].store(present ? Present : Absent, std::memory_order_release);
    }

  private:
    enum State : uint8_t { Absent, Present, Taken };

    uint64_t take(Random &random, State wanted) {
        for (;;) {
            uint64_t file = random.below(states.size());
            State found = wanted;
            if (states[file].compare_exchange_strong(found, Taken, std::memory_order_acquire,
                                                     std::memory_order_relaxed))
                return file;
        }
    }

    std::vector<std::atomic<State>> states;
    std::vector<WorkFile> files;
};

} // namespace workloads
