// SPDX-License-Identifier: BSD-3-Clause
//
// The msync-journal engine: msync() of a file on ext4 mounted with data=journal, where the kernel writes data twice, to
// the journal first. The published study's stand-in for a failure-atomic msync() in the kernel; it has no DAX, so the
// program works on the page cache. Not all or nothing: pages may reach the journal before msync(), in any transaction.
#pragma once

#include "heap.hpp"
#include "mapped_file.hpp"
#include "mount.hpp"

namespace engines {

class MsyncJournal : public HeapEngine {
  public:
    static constexpr const char *Name = "msync-journal";
    static constexpr bool Durable = true;

    MsyncJournal(const std::string &path, size_t wanted, OpenMode mode)
        : file((check(path), path), wanted, mode, 4096) {
        file.touch();
        file.sync();
        openHeap(file.data(), file.bytes(), mode, path);
    }

    template <class Change> void transaction(Change &&change) {
        change();
        file.sync();
        stats.commits++;
    }

    Statistics statistics() const { return stats; }

  private:
    static void check(const std::string &path) {
        Mount mount = mountOf(path);
        if (mount.type != "ext4" || !mount.has("data=journal"))
            fail(ENOTSUP, path + " is on " + (mount.type.empty() ? "an unknown file system" : mount.type) +
                              (mount.type == "ext4" ? " without data=journal" : "") +
                              ": msync-journal needs ext4 mounted with -o data=journal");
    }

    MappedFile file;
    Statistics stats;
};

} // namespace engines
