// SPDX-License-Identifier: BSD-3-Clause
//
// The msync-journal engine: msync() of a file on ext4 mounted with data=journal, where the kernel writes data twice, to
// the journal first. The published study uses it to represent a failure-atomic msync() in the kernel. It has no DAX, so
// the program works on the page cache. Transactions are not all or nothing: pages may reach the journal before msync(),
// in any transaction of the journal.
#pragma once

#include "mapped_heap.hpp"
#include "mount.hpp"

namespace engines {

class MsyncJournal : public MappedHeap {
  public:
    static constexpr const char *Name = "msync-journal";

    MsyncJournal(const std::string &path, size_t wanted, OpenMode mode)
        : MappedHeap((check(path), path), wanted, mode, 4096) {
        file.touch();
        file.sync();
        openHeap(mode, path);
    }

  private:
    static void check(const std::string &path) {
        Mount mount = mountOf(path);
        if (mount.type != "ext4" || !mount.has("data=journal"))
            fail(ENOTSUP, path + " is on " + (mount.type.empty() ? "an unknown file system" : mount.type) +
                              (mount.type == "ext4" ? " without data=journal" : "") +
                              ": msync-journal needs ext4 mounted with -o data=journal");
    }
};

} // namespace engines
