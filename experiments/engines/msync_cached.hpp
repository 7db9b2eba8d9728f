// SPDX-License-Identifier: BSD-3-Clause
//
// The msync-cached engine: msync() of a file on a conventional file system without DAX. The program works on the page
// cache, and changed pages are written back whole. Transactions are not all or nothing.
#pragma once

#include "mapped_heap.hpp"
#include "mount.hpp"

namespace engines {

class MsyncCached : public MappedHeap {
  public:
    static constexpr const char *Name = "msync-cached";

    MsyncCached(const std::string &path, size_t wanted, OpenMode mode)
        : MappedHeap((check(path), path), wanted, mode, 4096) {
        file.touch();
        file.sync();
        openHeap(mode, path);
    }

  private:
    static void check(const std::string &path) {
        Mount mount = mountOf(path);
        if (mount.has("dax=always") || mount.has("dax"))
            fail(ENOTSUP,
                 path + " is on " + mount.type +
                     " with DAX, where nothing is cached: msync-cached needs a mount without, as -o dax=never");
        if (mount.has("data=journal"))
            fail(ENOTSUP, path + " is on ext4 with data=journal: that is the engine msync-journal");
    }
};

} // namespace engines
