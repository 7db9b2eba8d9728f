// SPDX-License-Identifier: BSD-3-Clause
//
// The volatile engine: the data structures of the snapshot engine in DRAM, without the pass; a commit does nothing.
// What no durable engine can beat.
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

// The same compiled with the pass, so that every guard is passed for nothing: what instrumentation alone costs.
class VolatileInstrumented : public Volatile {
  public:
    static constexpr const char *Name = "volatile-instrumented";
    using Volatile::Volatile;
};

// With guards that test and never log (-snapshot-guard=check), with a call of nothing for each store instead of guards
// (=noop), and with a guard for each store, none merged, moved out of a loop or left out as repeated: what of these
// costs is whose.
class VolatileCheck : public Volatile {
  public:
    static constexpr const char *Name = "volatile-check";
    using Volatile::Volatile;
};
class VolatileNoop : public Volatile {
  public:
    static constexpr const char *Name = "volatile-noop";
    using Volatile::Volatile;
};
class VolatileEach : public Volatile {
  public:
    static constexpr const char *Name = "volatile-each";
    using Volatile::Volatile;
};

} // namespace engines
