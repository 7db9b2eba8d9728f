// SPDX-License-Identifier: BSD-3-Clause
//
// The famus-snap engine: failure-atomic msync() from reflinks. A transaction ends with msync() and a clone of the whole
// file, which shares the file's blocks until either is written; recovery returns to the last complete clone. A clone
// gets its name when it is durable and replaces the clone before it, so that there are at most two.
#pragma once

#include <linux/fs.h>
#include <sys/ioctl.h>

#include <cstdio>

#include "heap.hpp"
#include "mapped_file.hpp"
#include "mount.hpp"

namespace engines {

class FamusSnap : public HeapEngine {
  public:
    static constexpr const char *Name = "famus-snap";
    static constexpr bool Durable = true;

    FamusSnap(const std::string &path, size_t wanted, OpenMode mode)
        : last(path + ".snapshot"), next(last + ".new"), file((prepare(path, mode), path), wanted, mode, 4096) {
        if (mode == OpenMode::Create)
            tryClone(path);
        file.touch();
        folder = open(folderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder < 0)
            fail(errno, "cannot open the folder of " + path);
        openHeap(file.data(), file.bytes(), mode, path);
    }
    ~FamusSnap() { close(folder); }
    FamusSnap(const FamusSnap &) = delete;
    FamusSnap &operator=(const FamusSnap &) = delete;

    template <class Change> void transaction(Change &&change) {
        change();
        file.sync();
        clone(file.descriptor(), next, true);
        if (rename(next.c_str(), last.c_str()) < 0 || fsync(folder) < 0)
            fail(errno, "cannot rename " + next);
        stats.commits++;
    }

    Statistics statistics() const { return stats; }

  private:
    // A new pool has no clone. An old pool is replaced by its clone.
    void prepare(const std::string &path, OpenMode mode) {
        unlink(next.c_str());
        if (mode == OpenMode::Create) {
            unlink(last.c_str());
            return;
        }
        int source = open(last.c_str(), O_RDONLY | O_CLOEXEC);
        if (source < 0 && errno == ENOENT)
            throw NoPool(path + " was never committed");
        if (source < 0)
            fail(errno, "cannot open " + last);
        clone(source, path, false);
        close(source);
    }

    // Fail now rather than at the first commit.
    void tryClone(const std::string &path) {
        try {
            clone(file.descriptor(), next, false);
        } catch (...) {
            unlink(path.c_str());
            unlink(next.c_str());
            throw;
        }
        unlink(next.c_str());
    }

    static void clone(int source, const std::string &path, bool durable) {
        int copy = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (copy < 0)
            fail(errno, "cannot create " + path);
        int error = ioctl(copy, FICLONE, source) < 0 || (durable && fsync(copy) < 0) ? errno : 0;
        close(copy);
        if (error == EOPNOTSUPP || error == ENOTTY || error == EINVAL)
            fail(error, path + " is on a file system without reflinks: famus-snap needs XFS made with reflink=1");
        if (error)
            fail(error, "cannot clone to " + path);
    }

    std::string last, next;
    MappedFile file;
    int folder;
    Statistics stats;
};

} // namespace engines
