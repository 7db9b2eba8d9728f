// SPDX-License-Identifier: BSD-3-Clause
//
// The second baseline of `cpnvm`, beside `volatile`: its own allocator, in DRAM and without checkpoints. The allocator
// lays out objects differently from the heap of `volatile`, and this alone makes a program faster or slower.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <string>

#include "epochs.hpp"

namespace engines {

class VolatileCpnvm {
  public:
    static constexpr const char *Name = "volatile-cpnvm";
    static constexpr bool Durable = false;

    template <class T> using Ptr = RelativePtr<T>;

    VolatileCpnvm(const std::string &path, size_t bytes, OpenMode mode)
        : bytes(bytes), memory(mapped(path, bytes, mode)), heap(memory, bytes) {}
    ~VolatileCpnvm() { munmap(memory, bytes); }
    VolatileCpnvm(const VolatileCpnvm &) = delete;
    VolatileCpnvm &operator=(const VolatileCpnvm &) = delete;

    template <class Root> Root *root() { return static_cast<Root *>(heap.root(sizeof(Root))); }
    template <class T> Ptr<T> allocate(size_t count) {
        return Ptr<T>(static_cast<T *>(heap.allocate(count * sizeof(T))));
    }
    template <class T> void release(Ptr<T> old, size_t count) { heap.release(old.get(), count * sizeof(T)); }
    template <class T> void writing(T *, size_t = 1) {}
    template <class T> void fresh(T *, size_t = 1) {}

    template <class Change> void transaction(Change &&change) {
        change();
        stats.commits++;
    }

    Statistics statistics() const { return stats; }

  private:
    static void *mapped(const std::string &path, size_t bytes, OpenMode mode) {
        if (mode == OpenMode::OpenExisting)
            throw NoPool(path + ": the volatile engine keeps nothing");
        void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            fail(errno, "cannot map memory");
        return memory;
    }

    size_t bytes;
    void *memory;
    AnnouncedHeap heap; // its announcements name no tracked memory
    Statistics stats;
};

} // namespace engines
