// SPDX-License-Identifier: BSD-3-Clause
//
// The nodes of mtree_map.hpp, after the layout that was published for Masstree (Mao, Kohler and Morris, EuroSys 2012):
// border nodes of 15 slots whose order is one word, interior nodes of 16 children, five lines each.
//
// A reader takes no lock. It notes a node's version, reads, and looks whether the version is still the same. So every
// word that a reader may meet is stored and loaded whole; stores are releases and loads are acquires, so that who sees
// a new word sees the version that goes with it, too.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace workloads::mtree {

// Where something lies, as the distance from the tree's root: one word, good wherever the pool is mapped. 0: nowhere.
using Link = uint64_t;

template <class T> T load(const T &word) {
    return std::atomic_ref(const_cast<T &>(word)).load(std::memory_order_acquire);
}
template <class T> void store(T &word, T value) { std::atomic_ref(word).store(value, std::memory_order_release); }

// A version: what is going on, what kind of node it is, and two counters. A count of splits goes up when keys leave the
// node for another one, a count of insertions at every other change that a reader must not miss. It goes on when the
// memory becomes another node, which is always one of the same kind.
namespace version {
constexpr uint64_t Inserting = 1, Splitting = 2, Deleted = 4, Border = 8, Changing = Inserting | Splitting;
constexpr uint64_t Inserted = uint64_t{1} << 8, Split = uint64_t{1} << 36;
} // namespace version

// Part of a key: eight bytes that compare as a number, and what comes after them.
class Cursor {
  public:
    explicit Cursor(std::string_view key) : left(key) {}

    uint64_t slice() const {
        uint64_t bytes = 0;
        memcpy(&bytes, left.data(), std::min(left.size(), sizeof(bytes)));
        return __builtin_bswap64(bytes);
    }
    // How the part ends: after that many bytes of the slice, or behind it.
    uint8_t ending() const { return static_cast<uint8_t>(std::min(left.size(), size_t{Behind})); }
    std::string_view rest() const { return left.substr(std::min(left.size(), sizeof(uint64_t))); }
    void descend() { left = rest(); }

    static constexpr uint8_t Behind = sizeof(uint64_t) + 1;

  private:
    std::string_view left;
};

// What a slot leads to: a record, or the tree of all keys that go on behind this slice.
constexpr uint8_t Layer = 255;
inline uint8_t rankOf(uint8_t ending) { return std::min(ending, Cursor::Behind); }

// The order of a border node's slots: how many are in use, then their numbers by key, then those of the others.
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
    // Of what ends with that rank; where it would go, if it is not there.
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

    uint64_t count; // of slices
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

// A value, and of its key what lies behind the slice of its slot. It is never changed: who updates makes another one.
struct Record {
    uint64_t value; // when nobody has it: the next such record of this size
    uint64_t rest_bytes;
    uint64_t rest[];

    // Filled up with zeros.
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

// Records come in these sizes, so that memory that was a record is one again, as long as it was.
constexpr size_t RecordSizes[] = {16, 32, 48, 64, 128, 256, 512, 1024};
constexpr size_t KeyBytesMax = 1000;
inline size_t sizeNumberOf(size_t bytes) {
    return static_cast<size_t>(std::lower_bound(std::begin(RecordSizes), std::end(RecordSizes), bytes) - RecordSizes);
}

} // namespace workloads::mtree
