// SPDX-License-Identifier: BSD-3-Clause
//
// The volatile engine: the data structures of the snapshot engine in DRAM, without the pass; a commit does nothing. No
// durable engine can be faster.
#pragma once

#include <sys/mman.h>

#include <cerrno>

#include "heap.hpp"

namespace engines {

class Volatile : public HeapEngine {
  public:
    static constexpr const char *Name = "volatile";
    static constexpr bool Durable = false;

    Volatile(const std::string &path, size_t bytes, OpenMode mode) : bytes(bytes) {
        if (mode == OpenMode::OpenExisting)
            throw NoPool(path + ": the volatile engine keeps nothing");
        memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            fail(errno, "cannot map memory");
        openHeap(memory, bytes, mode, path);
    }
    ~Volatile() { munmap(memory, bytes); }
    Volatile(const Volatile &) = delete;
    Volatile &operator=(const Volatile &) = delete;

    template <class Change> void transaction(Change &&change) {
        change();
        stats.commits++;
    }

    Statistics statistics() const { return stats; }

  private:
    size_t bytes;
    void *memory = nullptr;
    Statistics stats;
};

// The baseline for threads with checkpoints: no thread waits for its turn, and a point does nothing.
class VolatileThreads : public Volatile {
  public:
    static constexpr const char *Name = "volatile-threads";

    using Volatile::Volatile;

    template <class Change> void transaction(Change &&change) { change(); }
    void enter() {}
    void point() {}
    void leave() {}
};

// The volatile engine compiled with the pass, in one of the variants of workloads/CMakeLists.txt, which set the names
// of program and class. The name of the class is part of its symbols, and so adds to the size of the program.
#ifdef INSTRUMENTED_AS
class ENGINE : public Volatile {
  public:
    static constexpr const char *Name = INSTRUMENTED_AS;
    using Volatile::Volatile;
};
#endif

} // namespace engines
