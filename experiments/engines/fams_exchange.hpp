// SPDX-License-Identifier: BSD-3-Clause
//
// The fams-exchange engine: failure-atomic msync() with an unchanged kernel. The program works on a copy in DRAM, and
// userfaultfd lists the changed pages. A transaction writes these pages to an unnamed staging file, and one
// XFS_IOC_EXCHANGE_RANGE moves them to the pool, all or none, durable when it returns. There is nothing to recover.
//
// The pool itself is not mapped while it is in use: an exchange would have to remove the exchanged ranges from all
// mappings.
#pragma once

#include <sys/ioctl.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "heap.hpp"
#include "mapped_file.hpp"
#include "mount.hpp"
#include "track/written_pages.h"

namespace engines {

// As in the kernel since Linux 6.10; the headers of the build machine may be older.
struct ExchangeRange {
    int32_t file1;
    uint32_t zero;
    uint64_t file1_offset, file2_offset, bytes, flags;
    static constexpr uint64_t Durable = 1 << 1, WrittenOnly = 1 << 3; // WrittenOnly: only the ranges written in file1
};
static constexpr unsigned long ExchangeCall = _IOW('X', 129, ExchangeRange);

struct Descriptor {
    const int number;

    explicit Descriptor(int number) : number(number) {}
    ~Descriptor() {
        if (number >= 0)
            close(number);
    }
    Descriptor(const Descriptor &) = delete;
    Descriptor &operator=(const Descriptor &) = delete;
};

// Anonymous memory in small pages, with a list of the pages that were stored to.
class WatchedMemory {
  public:
    struct Run {
        uint64_t offset, bytes;
    };

    WatchedMemory(size_t bytes, const std::string &path) : size(bytes) {
        const char *why = nullptr;
        if (int status = written_pages_open(&pages, &why); status < 0)
            fail(-status, path + (why ? std::string(": ") + why : " cannot be tracked by pages"));
        memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int status = memory == MAP_FAILED ? -errno : written_pages_watch(&pages, memory, bytes);
        if (status == 0 && madvise(memory, bytes, MADV_POPULATE_WRITE) < 0)
            status = -errno;
        if (status < 0) {
            release();
            fail(-status, "cannot have memory for " + path);
        }
    }
    ~WatchedMemory() { release(); }
    WatchedMemory(const WatchedMemory &) = delete;
    WatchedMemory &operator=(const WatchedMemory &) = delete;

    char *data() const { return static_cast<char *>(memory); }

    // Append the runs of pages that were stored to since the last call.
    void takeWritten(std::vector<Run> &runs) {
        auto found = [](void *context, uint64_t offset, uint64_t bytes) {
            static_cast<std::vector<Run> *>(context)->push_back({offset, bytes});
        };
        if (int status = written_pages_take(&pages, memory, size, found, &runs); status < 0)
            fail(-status, "cannot list the pages that were stored to");
    }

  private:
    void release() {
        if (memory != MAP_FAILED)
            munmap(memory, size);
        written_pages_close(&pages);
    }

    size_t size;
    void *memory = MAP_FAILED;
    written_pages pages;
};

class FamsExchange : public HeapEngine {
  public:
    static constexpr const char *Name = "fams-exchange";
    static constexpr bool Durable = true;

    FamsExchange(const std::string &path, size_t wanted, OpenMode mode) {
        MappedFile file(path, wanted, mode, PageBytes);
        try {
            size = file.bytes();
            pool.emplace(fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0));
            makeStaging(path);
            if (mode == OpenMode::Create)
                makeDurable(path);
            memory.emplace(size, path);
            if (mode == OpenMode::OpenExisting)
                memcpy(memory->data(), file.data(), size);
            memory->takeWritten(changed);
            changed.clear(); // these are the engine's own stores
        } catch (...) {
            if (mode == OpenMode::Create)
                unlink(path.c_str());
            throw;
        }
        openHeap(memory->data(), size, mode, path);
    }

    // If a transaction fails, the file is unchanged, and the next transaction commits its changes too.
    template <class Change> void transaction(Change &&change) {
        change();
        memory->takeWritten(changed);
        if (!changed.empty())
            commit();
        stats.commits++;
    }

    Statistics statistics() const { return stats; }

  private:
    static constexpr size_t PageBytes = 4096;

    // Fail now rather than at the first commit. Nothing is written to the staging file yet, so nothing is exchanged.
    void makeStaging(const std::string &path) {
        staging.emplace(open(folderOf(path).c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
        int error =
            staging->number < 0 || ftruncate(staging->number, static_cast<off_t>(size)) < 0 ? errno : exchange();
        if (error == ENOTTY || error == EOPNOTSUPP)
            fail(error,
                 path + " is on a file system that exchanges no ranges: fams-exchange needs Linux 6.10 and XFS made "
                        "with mkfs.xfs -i exchange=1");
        if (error)
            fail(error, "cannot make a staging file beside " + path);
    }

    // Make the pool's size and name durable.
    void makeDurable(const std::string &path) {
        Descriptor folder(open(folderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (folder.number < 0 || fsync(pool->number) < 0 || fsync(folder.number) < 0)
            fail(errno, "cannot synchronise " + path);
    }

    void commit() {
        // The staging file contains the old pages from the last exchange, and this one must not bring them back.
        if (fallocate(staging->number, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size)) < 0)
            fail(errno, "cannot empty the staging file");
        uint64_t bytes = 0;
        for (WatchedMemory::Run run : changed) {
            stage(run);
            bytes += run.bytes;
        }
        if (int error = exchange())
            fail(error, "cannot exchange pages");
        changed.clear();
        stats.data_bytes += bytes;
    }

    void stage(WatchedMemory::Run run) {
        while (run.bytes > 0) {
            ssize_t done =
                pwrite(staging->number, memory->data() + run.offset, run.bytes, static_cast<off_t>(run.offset));
            if (done < 0)
                fail(errno, "cannot write pages to the staging file");
            run.offset += static_cast<uint64_t>(done);
            run.bytes -= static_cast<uint64_t>(done);
        }
    }

    // Return 0 or the error.
    int exchange() {
        ExchangeRange all = {staging->number, 0, 0, 0, size, ExchangeRange::Durable | ExchangeRange::WrittenOnly};
        return ioctl(pool->number, ExchangeCall, &all) < 0 ? errno : 0;
    }

    size_t size;
    std::optional<Descriptor> pool, staging;
    std::optional<WatchedMemory> memory;
    std::vector<WatchedMemory::Run> changed; // changed, but not committed yet
    Statistics stats;
};

} // namespace engines
