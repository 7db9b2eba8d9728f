// SPDX-License-Identifier: BSD-3-Clause
//
// The nodes of mtree_map.hpp, in the layout that was published for Masstree (Mao, Kohler and Morris, EuroSys 2012):
// border nodes of 15 slots with their order in one word, and interior nodes of 16 children, five lines each.
//
// A reader takes no lock. It notes a node's version, reads, and checks that the version is still the same. Every word
// that a reader may load is therefore stored and loaded whole. Stores are releases and loads are acquires, so that a
// reader that sees a new word also sees the version that goes with it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace workloads::mtree {

// The place of an object, as the distance from the tree's root: one word, valid wherever the pool is mapped. 0: no
// place.
using Link = uint64_t;

template <class T> T load(const T &word) {
    return std::atomic_ref(const_cast<T &>(word)).load(std::memory_order_acquire);
}
template <class T> void store(T &word, T value) { std::atomic_ref(word).store(value, std::memory_order_release); }

// A version: flags for changes in progress and for the kind of the node, and two counters. The counter of splits
// increases when keys leave the node for another one, the counter of insertions at every other change that a reader
// must not miss. The counters continue when the memory becomes another node, which always has the same kind.
namespace version {
constexpr uint64_t Inserting = 1, Splitting = 2, Deleted = 4, Border = 8, Changing = Inserting | Splitting;
constexpr uint64_t Inserted = uint64_t{1} << 8, Split = uint64_t{1} << 36;
} // namespace version

// A part of a key: eight bytes that compare as a number, and the bytes after them.
class Cursor {
  public:
    explicit Cursor(std::string_view key) : left(key) {}

    uint64_t slice() const {
        uint64_t bytes = 0;
        memcpy(&bytes, left.data(), std::min(left.size(), sizeof(bytes)));
        return __builtin_bswap64(bytes);
    }
    // The number of bytes in the slice if the key ends there, else Behind.
    uint8_t ending() const { return static_cast<uint8_t>(std::min(left.size(), size_t{Behind})); }
    std::string_view rest() const { return left.substr(std::min(left.size(), sizeof(uint64_t))); }
    void descend() { left = rest(); }

    static constexpr uint8_t Behind = sizeof(uint64_t) + 1;

  private:
    std::string_view left;
};

// The ending of a slot that leads to the tree of all keys that continue behind its slice. Other slots lead to a record.
constexpr uint8_t Layer = 255;
inline uint8_t rankOf(uint8_t ending) { return std::min(ending, Cursor::Behind); }

// The order of a border node's slots: the number of slots in use, their numbers by key, then the numbers of the free
// slots.
class Permutation {
  public:
    static constexpr uint32_t Slots = 15;

    explicit Permutation(uint64_t word = 0xedcba98765432100) : word(word) {}

    uint64_t bits() const { return word; }
    uint32_t count() const { return word & 15; }
    uint32_t at(uint32_t position) const { return word >> (4 + 4 * position) & 15; }
    uint32_t free() const { return at(count()); }

    Permutation inserted(uint32_t position) const { return moved(count(), position, +1); }
    Permutation removed(uint32_t position) const { return moved(position, count() - 1, -1); }
    Permutation cut(uint32_t count) const { return Permutation((word & ~uint64_t{15}) | count); }

  private:
    Permutation moved(uint32_t from, uint32_t to, int more) const {
        uint64_t slot = at(from), rest = word & ~uint64_t{15};
        uint64_t above = rest & (from == Slots - 1 ? 0 : ~uint64_t{0} << (8 + 4 * from));
        uint64_t without = (rest & below(from)) | above >> 4; // the others close up
        uint64_t opened = (without & below(to)) | (without & ~below(to)) << 4;
        return Permutation(opened | slot << (4 + 4 * to) | (count() + static_cast<uint32_t>(more)));
    }
    static uint64_t below(uint32_t position) { return (uint64_t{1} << (4 + 4 * position)) - 1; }

    uint64_t word;
};

struct Node {
    uint64_t version;
};

struct alignas(64) Border : Node {
    uint64_t permutation;
    uint8_t endings[16]; // the last is not used
    Link next, previous;
    uint64_t slices[Permutation::Slots];
    Link links[Permutation::Slots];

    struct Place {
        uint32_t position;
        bool found;
    };
    // The position of the key with this slice and rank; if it does not exist, the position where it would go.
    Place place(Permutation order, uint64_t slice, uint8_t rank) const {
        for (uint32_t position = 0; position < order.count(); position++) {
            uint32_t slot = order.at(position);
            uint64_t other = load(slices[slot]);
            if (other < slice)
                continue;
            uint8_t other_rank = other == slice ? rankOf(load(endings[slot])) : Layer;
            if (other_rank >= rank)
                return {position, other_rank == rank};
        }
        return {order.count(), false};
    }
};

struct alignas(64) Interior : Node {
    static constexpr uint32_t Slices = 15;

    uint64_t count; // number of slices
    uint64_t slices[Slices];
    Link children[Slices + 1]; // child i has the keys below slice i, and not below slice i - 1

    uint32_t indexOf(uint64_t slice) const {
        uint32_t index = 0, end = static_cast<uint32_t>(load(count));
        while (index < end && slice >= load(slices[index]))
            index++;
        return index;
    }
};

static_assert(sizeof(Border) == 5 * 64 && sizeof(Interior) == 5 * 64, "as published: five lines");

// A value, and the part of its key behind the slice of its slot. A record never changes: an update makes another one.
struct Record {
    uint64_t value; // in a free record: the next free record of this size
    uint64_t rest_bytes;
    uint64_t rest[];

    // Padded with zeros.
    static uint64_t wordOf(std::string_view rest, size_t index) {
        uint64_t word = 0;
        memcpy(&word, rest.data() + 8 * index, std::min(sizeof(word), rest.size() - 8 * index));
        return word;
    }
    static size_t wordsOf(size_t rest_bytes) { return (rest_bytes + 7) / 8; }
    static size_t bytesOf(size_t rest_bytes) { return sizeof(Record) + 8 * wordsOf(rest_bytes); }

    bool has(std::string_view wanted) const {
        if (load(rest_bytes) != wanted.size())
            return false;
        for (size_t i = 0; i < wordsOf(wanted.size()); i++)
            if (load(rest[i]) != wordOf(wanted, i))
                return false;
        return true;
    }
};

// Records have these sizes, so that the memory of a record can become another record of the same length.
constexpr size_t RecordSizes[] = {16, 32, 48, 64, 128, 256, 512, 1024};
constexpr size_t KeyBytesMax = 1000;
inline size_t sizeNumberOf(size_t bytes) {
    return static_cast<size_t>(std::lower_bound(std::begin(RecordSizes), std::end(RecordSizes), bytes) - RecordSizes);
}

} // namespace workloads::mtree
