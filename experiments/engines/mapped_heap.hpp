// SPDX-License-Identifier: BSD-3-Clause
//
// The heap in a shared mapping of its file, made durable by msync() of the whole file: the base of the msync engines.
#pragma once

#include <atomic>

#include "heap.hpp"
#include "mapped_file.hpp"

namespace engines {

class MappedHeap : public HeapEngine {
  public:
    static constexpr bool Durable = true;

    template <class Change> void transaction(Change &&change) {
        change();
        file.sync();
        commits.fetch_add(1, std::memory_order_relaxed);
    }

    Statistics statistics() const { return {.commits = commits}; }

  protected:
    // Maps the file only. The engine calls openHeap() once it knows that it can work on the file.
    MappedHeap(const std::string &path, size_t wanted, OpenMode mode, size_t unit) : file(path, wanted, mode, unit) {}

    void openHeap(OpenMode mode, const std::string &path) {
        HeapEngine::openHeap(file.data(), file.bytes(), mode, path);
    }

    MappedFile file;

  private:
    std::atomic<uint64_t> commits = 0; // several threads may commit
};

} // namespace engines
