// SPDX-License-Identifier: BSD-3-Clause
//
// The allocator of a container of the standard library in a persistent heap. The heap is set before one is used.
#pragma once

#include "persistent_heap.hpp"

namespace persistent {

inline Heap *heap = nullptr;

template <class T> struct Allocator {
    using value_type = T;
    Allocator() = default;
    template <class Other> Allocator(const Allocator<Other> &) {}
    T *allocate(size_t count) { return static_cast<T *>(heap->allocate(count * sizeof(T))); }
    void deallocate(T *block, size_t count) { heap->release(block, count * sizeof(T)); }
    template <class Other> bool operator==(const Allocator<Other> &) const { return true; }
};

} // namespace persistent
