// SPDX-License-Identifier: BSD-3-Clause
//
// A boost.interprocess heap inside one range of memory: the allocator of the engines that have no allocator of their
// own. It knows nothing of crash consistency; under snapshot the compiler pass tracks its stores like any other.
#pragma once

#include <boost/interprocess/allocators/private_node_allocator.hpp>
#include <boost/interprocess/indexes/iset_index.hpp>
#include <boost/interprocess/managed_external_buffer.hpp>
#include <boost/interprocess/mem_algo/rbtree_best_fit.hpp>
#include <boost/interprocess/sync/mutex_family.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "engine.hpp"

namespace engines {

class Heap {
  public:
    // A pool is all zero until its first commit.
    static bool isFormatted(const void *memory) { return static_cast<const Header *>(memory)->magic == Magic; }

    Heap(void *memory, size_t bytes) : header(static_cast<Header *>(memory)), buffer(openOrCreate(header, bytes)) {}

    template <class Root> Root *root() {
        if (!header->root) {
            auto *fresh = static_cast<Root *>(buffer.allocate_aligned(sizeof(Root), LineBytes));
            memset(static_cast<void *>(fresh), 0, sizeof(Root));
            header->root = fresh;
        }
        return static_cast<Root *>(header->root.get());
    }

    template <class T> RelativePtr<T> allocate(size_t count) {
        if constexpr (IsSmall<T>)
            if (count == 1)
                return RelativePtr<T>(reinterpret_cast<T *>(smallOf<T>()->allocate_one().get()));
        size_t bytes = count * sizeof(T);
        // Aligning objects smaller than a line would cost more memory than it saves.
        void *memory = bytes < LineBytes ? buffer.allocate(bytes) : buffer.allocate_aligned(bytes, LineBytes);
        return RelativePtr<T>(static_cast<T *>(memory));
    }

    // `count` must equal the count of allocate().
    template <class T> void release(RelativePtr<T> memory, size_t count) {
        if constexpr (IsSmall<T>)
            if (count == 1)
                return smallOf<T>()->deallocate_one(reinterpret_cast<Cell<T> *>(memory.get()));
        buffer.deallocate(memory.get());
    }

  private:
    using Algorithm = boost::interprocess::rbtree_best_fit<boost::interprocess::null_mutex_family>;
    using Buffer = boost::interprocess::basic_managed_external_buffer<char, Algorithm, boost::interprocess::iset_index>;

    static constexpr uint64_t Magic = 0x3250414548504e53; // "SNPHEAP2"
    static constexpr size_t HeapOffset = 4096, LineBytes = 64, UnitBytes = 16;

    // Single objects smaller than a line come from pools without a header per object, as in the engine pmdk: the
    // general algorithm takes 48 bytes for an object of 16. A pool lies in the memory itself and is never destroyed.
    // Neighbours come in descending order, so a block is large enough for a prefetcher to follow.
    template <class T> struct Cell {
        alignas(UnitBytes) char bytes[(sizeof(T) + UnitBytes - 1) / UnitBytes * UnitBytes];
    };
    static constexpr size_t CellsPerBlock = 256;
    template <class T>
    using Small = boost::interprocess::private_node_allocator<Cell<T>, Buffer::segment_manager, CellsPerBlock>;

    struct Header {
        uint64_t magic;
        RelativePtr<void> root;
        RelativePtr<void> small[LineBytes / UnitBytes - 1]; // pools of 1, 2, 3 units; null before first use
    };

    template <class T>
    static constexpr bool IsSmall = sizeof(T) <= sizeof(Header::small) / sizeof(*Header::small) * UnitBytes;

    template <class T> Small<T> *smallOf() {
        RelativePtr<void> &pool = header->small[sizeof(Cell<T>) / UnitBytes - 1];
        if (!pool)
            pool = buffer.construct<Small<T>>(boost::interprocess::anonymous_instance)(buffer.get_segment_manager());
        return static_cast<Small<T> *>(pool.get());
    }

    static Buffer openOrCreate(Header *header, size_t bytes) {
        char *memory = reinterpret_cast<char *>(header) + HeapOffset;
        if (isFormatted(header))
            return Buffer(boost::interprocess::open_only, memory, bytes - HeapOffset);
        header->magic = Magic;
        header->root = nullptr;
        for (RelativePtr<void> &pool : header->small)
            pool = nullptr;
        return Buffer(boost::interprocess::create_only, memory, bytes - HeapOffset);
    }

    Header *header;
    Buffer buffer;
};

// Base class of the engines on such a heap, which need no announcements.
class HeapEngine {
  public:
    static constexpr bool CommitsAllThreads = true;

    template <class T> using Ptr = RelativePtr<T>;

    template <class Root> Root *root() { return heap->root<Root>(); }
    template <class T> RelativePtr<T> allocate(size_t count) { return heap->allocate<T>(count); }
    template <class T> void release(RelativePtr<T> old, size_t count) { heap->release(old, count); }
    template <class T> void writing(T *, size_t = 1) {}
    template <class T> void fresh(T *, size_t = 1) {}

  protected:
    void openHeap(void *memory, size_t bytes, OpenMode mode, const std::string &path) {
        if (mode == OpenMode::OpenExisting && !Heap::isFormatted(memory))
            throw NoPool(path + " was never committed");
        heap.emplace(memory, bytes);
    }

  private:
    std::optional<Heap> heap;
};

} // namespace engines
