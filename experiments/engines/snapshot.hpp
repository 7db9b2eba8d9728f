// SPDX-License-Identifier: BSD-3-Clause
//
// The snapshot engines: plain data structures in a tracked file, one msync() per transaction. The engines never
// announce a write, so the file that includes this header must be compiled with the pass.
//
// `snapshot` commits by the protocol that SNAPSHOT_PROTOCOL names, or the default. `snapshot-nv` works as the paper's
// Snapshot-NV, which finds changes by walking its log in persistent memory.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include "heap.hpp"
#include "snapshot/snapshot.h"

namespace engines {

template <unsigned Protocol> class TrackedFile : public HeapEngine {
  public:
    static constexpr const char *Name = Protocol == SNAPSHOT_PROTOCOL_UNDO_NV ? "snapshot-nv" : "snapshot";
    static constexpr bool Durable = true;

    TrackedFile(const std::string &path, size_t bytes, OpenMode mode) {
        struct stat status{};
        if (mode == OpenMode::Create) {
            unlink(path.c_str());
            unlink((path + ".snapshot-log").c_str());
        } else if (stat(path.c_str(), &status) < 0 || status.st_size == 0) {
            throw NoPool(path + " does not exist or is empty");
        }
        int result = snapshot_map(path.c_str(), mode == OpenMode::Create ? bytes : 0, SNAPSHOT_POPULATE | Protocol,
                                  nullptr, &memory);
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
    ~TrackedFile() { snapshot_unmap(memory); }
    TrackedFile(const TrackedFile &) = delete;
    TrackedFile &operator=(const TrackedFile &) = delete;

    template <class Change> void transaction(Change &&change) {
        change();
        commit();
    }

    Statistics statistics() const {
        struct snapshot_stats stats{};
        snapshot_get_stats(memory, &stats);
        return {stats.commits, stats.log_bytes,    stats.data_bytes,
                stats.fences,  stats.lines_undone, stats.lines_replayed};
    }

  protected:
    void *memory = nullptr;

  private:
    void commit() {
        int result = snapshot_sync(memory);
        if (result < 0)
            fail(-result, "msync");
    }
};

using Snapshot = TrackedFile<0>;
using SnapshotNv = TrackedFile<SNAPSHOT_PROTOCOL_UNDO_NV>;

} // namespace engines
