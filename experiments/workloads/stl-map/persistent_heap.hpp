// SPDX-License-Identifier: BSD-3-Clause
//
// A persistent heap on failure-atomic msync(): a file, mapped at the same address each time. Its objects and their
// pointers are there again when the program restarts. It knows nothing of crashes: commit() makes all allocations,
// frees and stores before it durable, all of them or none.
//
// Freed blocks wait in lists by size for the next of their size; a block larger than the largest list's is not reused.
// One thread at a time.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "snapshot/snapshot.h"

namespace persistent {

class Heap {
  public:
    // Made anew with that size, or as it is.
    Heap(const std::string &path, size_t bytes, bool create) {
        if (create) {
            unlink(path.c_str());
            unlink((path + ".snapshot-log").c_str());
        }
        unsigned place = create ? 0 : SNAPSHOT_FIXED; // pointers are to where it was
        int status = snapshot_map(path.c_str(), create ? bytes : 0, SNAPSHOT_POPULATE | place, nullptr, &memory);
        if (status < 0)
            failed(-status, "cannot map " + path);
        if (header()->magic != Magic) { // a new file, or one without a completed first commit
            if (!create)
                failed(ENODATA, path + " is no heap");
            header()->magic = Magic;
            header()->end = sizeof(Header);
            header()->bytes = bytes;
            commit();
        }
    }
    ~Heap() { snapshot_unmap(memory); }
    Heap(const Heap &) = delete;
    Heap &operator=(const Heap &) = delete;

    // The one object that everything else is found from; made with these arguments if there is none.
    template <class Root, class... Arguments> Root *root(Arguments &&...arguments) {
        if (!header()->root)
            header()->root = new (allocate(sizeof(Root))) Root(std::forward<Arguments>(arguments)...);
        return static_cast<Root *>(header()->root);
    }

    void *allocate(size_t bytes) {
        size_t units = unitsOf(bytes);
        if (units < Lists && header()->free[units]) {
            Free *block = header()->free[units];
            header()->free[units] = block->next;
            return block;
        }
        if (units * Unit > header()->bytes - header()->end)
            throw std::bad_alloc();
        void *block = static_cast<char *>(memory) + header()->end;
        header()->end += units * Unit;
        return block;
    }

    void release(void *block, size_t bytes) {
        size_t units = unitsOf(bytes);
        if (units >= Lists)
            return;
        auto *freed = static_cast<Free *>(block);
        freed->next = header()->free[units];
        header()->free[units] = freed;
    }

    void commit() {
        if (int status = snapshot_sync(memory); status < 0)
            failed(-status, "cannot commit");
    }

  private:
    static constexpr uint64_t Magic = 0x31504145484c5453; // "STLHEAP1"
    static constexpr size_t Unit = 16, Lists = 64;

    struct Free {
        Free *next;
    };
    struct alignas(64) Header {
        uint64_t magic, bytes, end; // from where on nothing was ever allocated
        void *root;
        Free *free[Lists]; // by units
    };

    static size_t unitsOf(size_t bytes) { return bytes == 0 ? 1 : (bytes + Unit - 1) / Unit; }
    [[noreturn]] static void failed(int error, const std::string &what) {
        throw std::system_error(error, std::generic_category(), what);
    }
    Header *header() const { return static_cast<Header *>(memory); }

    void *memory = nullptr;
};

} // namespace persistent
