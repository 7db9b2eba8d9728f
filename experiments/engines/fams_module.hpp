// SPDX-License-Identifier: BSD-3-Clause
//
// The fams engine: failure-atomic msync() by the kernel module of that name. The pool is a block device with DAX that
// nobody else has, and the mapping one of /dev/fams. Changed memory is committed in whole pages, all or nothing.
#pragma once

#include <sys/ioctl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "fams_exchange.hpp"
#include "fams_ioctl.h"

namespace engines {

// A store of /dev/fams, and all of its data mapped, or the part that is wanted.
class FamsStore {
  public:
    // Room for commits of 1024 pages.
    static constexpr uint64_t JournalBytes = 9u << 20;

    FamsStore(const std::string &path, size_t wanted, OpenMode mode)
        : store(::open("/dev/fams", O_RDWR | O_CLOEXEC)), device(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
        if (store.number < 0)
            fail(errno, "cannot open /dev/fams: fams needs the kernel module of that name");
        if (device.number < 0)
            fail(errno, "cannot open " + path);
        struct fams_attach attach{};
        attach.device = device.number;
        attach.flags = mode == OpenMode::Create ? FAMS_NEW : 0;
        attach.journal_bytes = JournalBytes;
        if (ioctl(store.number, FAMS_ATTACH, &attach) < 0) {
            if (errno == ENODATA)
                throw NoPool(path + " has no store");
            fail(errno, path + " cannot be a store: fams needs a block device with DAX that is not mounted");
        }
        commit_pages = attach.commit_pages;
        size = mode == OpenMode::Create ? wanted : attach.data_bytes;
        if (size > attach.data_bytes)
            fail(ENOSPC, path + " is too small");
        memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, store.number, 0);
        if (memory == MAP_FAILED)
            fail(errno, "cannot map " + path);
        if (mode == OpenMode::Create)
            clear();
    }
    ~FamsStore() {
        if (memory != MAP_FAILED)
            munmap(memory, size);
    }
    FamsStore(const FamsStore &) = delete;
    FamsStore &operator=(const FamsStore &) = delete;

    void *data() const { return memory; }
    size_t bytes() const { return size; }

    void commit() {
        if (msync(memory, size, MS_SYNC) == 0)
            return;
        if (errno == EFBIG)
            fail(EFBIG, "a commit has more than the " + std::to_string(commit_pages) + " pages that the journal holds");
        fail(errno, "msync");
    }

  private:
    // A store has the previous content of the device.
    void clear() {
        size_t piece = commit_pages * PageBytes;
        for (size_t at = 0; at < size; at += piece) {
            memset(static_cast<char *>(memory) + at, 0, std::min(piece, size - at));
            commit();
        }
    }

    static constexpr size_t PageBytes = 4096;

    Descriptor store, device;
    uint64_t commit_pages = 0;
    size_t size = 0;
    void *memory = MAP_FAILED;
};

class FamsModule : public HeapEngine {
  public:
    static constexpr const char *Name = "fams";
    static constexpr bool Durable = true;

    FamsModule(const std::string &path, size_t wanted, OpenMode mode) : store(path, wanted, mode) {
        openHeap(store.data(), store.bytes(), mode, path);
    }

    template <class Change> void transaction(Change &&change) {
        change();
        store.commit();
        stats.commits++;
    }

    Statistics statistics() const { return stats; }

  private:
    FamsStore store;
    Statistics stats;
};

} // namespace engines
