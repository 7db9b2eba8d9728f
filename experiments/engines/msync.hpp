// SPDX-License-Identifier: BSD-3-Clause
//
// The msync engines: the data structures of the snapshot engine in a shared mapping of the file itself, one msync() per
// transaction. Programs work this way today: a transaction is durable when msync() returns, but not all or nothing. The
// kernel may write back a page at any time, and a crash in mid-transaction leaves the pages written back so far.
//
// The unit that the kernel tracks, write-protects and writes back is a page: 4 KiB, or 2 MiB if a DAX file system has
// laid out the file for it. The page size must be certain, so both engines ask for theirs and check it.
#pragma once

#include <sys/resource.h>

#include <algorithm>

#include "mapped_heap.hpp"

namespace engines {

template <bool Huge> class Msync : public MappedHeap {
  public:
    static constexpr const char *Name = Huge ? "msync-2m" : "msync-4k";

    Msync(const std::string &path, size_t wanted, OpenMode mode) : MappedHeap(path, wanted, mode, Unit) {
        if (madvise(file.data(), file.bytes(), Huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) < 0)
            fail(errno, "madvise");
        if (std::string wrong = wrongPages(); !wrong.empty()) {
            if (mode == OpenMode::Create)
                unlink(path.c_str());
            fail(ENOTSUP, path + ": " + wrong);
        }
        openHeap(mode, path);
    }

  private:
    static constexpr size_t PageBytes = 4096, HugeBytes = 2 << 20, Unit = Huge ? HugeBytes : PageBytes;
    // Touching 2 MiB takes one page fault with a huge page, two if the processor reads before it writes (QEMU's does),
    // and 512 with small pages. The limit leaves room for other faults at the same time.
    static constexpr uint64_t MostForOne = 16;

    static uint64_t faults() {
        struct rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return static_cast<uint64_t>(usage.ru_minflt + usage.ru_majflt);
    }

    std::string wrongPages() {
        for (size_t at = 0; at < file.bytes(); at += HugeBytes) {
            uint64_t before = faults();
            file.touch(at, std::min(at + HugeBytes, file.bytes()));
            uint64_t taken = faults() - before;
            if (Huge && taken > MostForOne)
                return "touching 2 MiB took " + std::to_string(taken) +
                       " page faults: huge pages need a file system that maps 2 MiB at once (ext4 with DAX does) and "
                       "has room in such pieces";
            if (!Huge && at + HugeBytes <= file.bytes() && taken <= MostForOne)
                return "the kernel maps huge pages though it was asked not to";
        }
        return "";
    }
};

using Msync4k = Msync<false>;
using Msync2m = Msync<true>;

} // namespace engines
