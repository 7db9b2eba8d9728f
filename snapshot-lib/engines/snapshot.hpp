// SPDX-License-Identifier: BSD-3-Clause
//
// The snapshot engine: plain data structures in a tracked file, one msync() per transaction. It never announces a
// write; the file that includes this must be compiled with the pass.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include "heap.hpp"
#include "snapshot/snapshot.h"

namespace engines {

class Snapshot : public HeapEngine {
  public:
    static constexpr const char *Name = "snapshot";
    static constexpr bool Durable = true;

    Snapshot(const std::string &path, size_t bytes, OpenMode mode) {
        struct stat status{};
        if (mode == OpenMode::Create) {
            unlink(path.c_str());
            unlink((path + ".snapshot-log").c_str());
        } else if (stat(path.c_str(), &status) < 0 || status.st_size == 0) {
            throw NoPool(path + " does not exist or is empty");
        }
        int result =
            snapshot_map(path.c_str(), mode == OpenMode::Create ? bytes : 0, SNAPSHOT_POPULATE, nullptr, &memory);
        if (result < 0)
            fail(-result, "cannot map " + path);
        size_t mapped_bytes = mode == OpenMode::Create ? bytes : static_cast<size_t>(status.st_size);
        try {
            openHeap(memory, mapped_bytes, mode, path);
        } catch (...) {
            snapshot_unmap(memory);
            throw;
        }
    }
    ~Snapshot() { snapshot_unmap(memory); }
    Snapshot(const Snapshot &) = delete;
    Snapshot &operator=(const Snapshot &) = delete;

    template <class Change> void transaction(Change &&change) {
        change();
        commit();
    }

    Statistics statistics() const {
        struct snapshot_stats stats{};
        snapshot_get_stats(memory, &stats);
        return {stats.commits, stats.log_bytes, stats.data_bytes, stats.fences, stats.lines_undone};
    }

  private:
    void commit() {
        int result = snapshot_sync(memory);
        if (result < 0)
            fail(-result, "msync");
    }

    void *memory = nullptr;
};

} // namespace engines
