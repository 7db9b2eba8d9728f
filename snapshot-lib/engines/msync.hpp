// SPDX-License-Identifier: BSD-3-Clause
//
// The msync engines: the data structures of the snapshot engine in a shared mapping of the file itself, one msync() per
// transaction. What programs do today: durable when it returns, but not all or nothing. The kernel may write back a
// page at any time, and a crash in mid-transaction leaves what it had written.
//
// The unit the kernel tracks, write-protects and writes back is a page: of 4 KiB, or of 2 MiB where a DAX file system
// has laid out the file for it. Which it is must be certain, so both ask for it and check.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "heap.hpp"

namespace engines {

template <bool Huge> class Msync : public HeapEngine {
  public:
    static constexpr const char *Name = Huge ? "msync-2m" : "msync-4k";

    // `bytes` are rounded up to whole units; the file gets all its blocks now.
    Msync(const std::string &path, size_t wanted, OpenMode mode) {
        int file = ::open(path.c_str(), mode == OpenMode::Create ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR, 0666);
        if (file < 0 && errno == ENOENT && mode == OpenMode::OpenExisting)
            throw NoPool(path + " does not exist");
        if (file < 0)
            fail(errno, "cannot open " + path);
        bytes = mode == OpenMode::Create ? (wanted + Unit - 1) / Unit * Unit : sizeOf(file);
        int error = mode == OpenMode::Create ? posix_fallocate(file, 0, static_cast<off_t>(bytes)) : 0;
        if (error == 0)
            error = map(file);
        close(file);
        if (error)
            fail(error, "cannot map " + path);
        if (mode == OpenMode::OpenExisting && !Heap::isFormatted(memory)) {
            munmap(memory, bytes);
            throw NoPool(path + " was never committed");
        }
        if (std::string wrong = wrongPages(); !wrong.empty()) {
            munmap(memory, bytes);
            if (mode == OpenMode::Create)
                unlink(path.c_str());
            fail(ENOTSUP, path + ": " + wrong);
        }
        heap.emplace(memory, bytes);
    }
    ~Msync() { munmap(memory, bytes); }
    Msync(const Msync &) = delete;
    Msync &operator=(const Msync &) = delete;

    template <class Change> void transaction(Change &&change) {
        change();
        if (msync(memory, bytes, MS_SYNC) < 0)
            fail(errno, "msync");
        stats.commits++;
    }

    Statistics statistics() const { return stats; }

  private:
    static constexpr size_t PageBytes = 4096, HugeBytes = 2 << 20, Unit = Huge ? HugeBytes : PageBytes;

    static size_t sizeOf(int file) {
        struct stat status{};
        fstat(file, &status);
        return static_cast<size_t>(status.st_size);
    }

    static uint64_t faults() {
        struct rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return static_cast<uint64_t>(usage.ru_minflt + usage.ru_majflt);
    }

    int map(int file) {
        if (bytes == 0)
            return EINVAL;
        memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (memory == MAP_FAILED)
            return errno;
        return madvise(memory, bytes, Huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) < 0 ? errno : 0;
    }

    // Write to all pages what they hold, at once: each page that the kernel maps is one fault.
    std::string wrongPages() {
        uint64_t before = faults(), units = bytes / HugeBytes;
        for (size_t at = 0; at < bytes; at += PageBytes) {
            char zero = 0;
            __atomic_compare_exchange_n(static_cast<char *>(memory) + at, &zero, 0, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED);
        }
        uint64_t taken = faults() - before;
        if (Huge && taken > units + SpareFaults)
            return std::to_string(units) + " huge pages took " + std::to_string(taken) +
                   " page faults: they need a file system that maps 2 MiB at once (ext4 with DAX does) and has room in "
                   "such pieces";
        if (!Huge && units > SpareFaults && taken <= units + SpareFaults)
            return "the kernel maps huge pages though it was asked not to";
        return "";
    }

    static constexpr uint64_t SpareFaults = 8; // of what else the program touches meanwhile

    size_t bytes = 0;
    void *memory = nullptr;
    Statistics stats;
};

using Msync4k = Msync<false>;
using Msync2m = Msync<true>;

} // namespace engines
