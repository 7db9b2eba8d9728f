// SPDX-License-Identifier: BSD-3-Clause
//
// Leaves with undo copies in their own lines, after InCLL (Cohen et al., "Fine-Grain Checkpointing with In-Cache-Line
// Logging", ASPLOS 2019): an ordered map of numbers with border nodes that lie in persistent memory and are changed in
// place. Recovery after a crash undoes the epoch that was running.
//
//  - A line reaches memory whenever the caches evict it, but its stores reach memory in their order. An old value that
//    is stored in the same line before the new one is therefore in memory if the new one is, without a flush. The
//    permutation has a copy of its value at the beginning of the epoch, and the seven values of a line have one word
//    for one of them.
//  - Where this is not sufficient, the leaf goes to a log, which is flushed and fenced before the leaf is changed: for
//    a second value of a line, for a slot that the beginning of the epoch still needs, and for a split.
//  - The end of an epoch flushes each line that it has stored to, and only then begins the next epoch.
//
// The published system has 14 keys in Masstree's border nodes, and flushes all caches by wbinvd. Here the layers above
// are a std::map in DRAM, rebuilt from the leaves' links. The map is for one thread. Its memory has words(), store(),
// flush() and fence().
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "mtree_node.hpp"

namespace rivals {

using workloads::mtree::Permutation;

struct alignas(64) LeafLines {
    static constexpr uint32_t Slots = 14, HalfSlots = 7;

    uint64_t epoch, permutation, permutation_before; // the copy is from the beginning of `epoch`
    uint64_t next;                                   // number of a leaf; 0: none
    uint64_t lowest;                                 // lowest key that the leaf may have
    uint64_t unused[3];
    struct alignas(64) Half {
        uint64_t words[HalfSlots], undo; // `undo`: value, slot and epoch, in 44, 4 and 16 bits
    } keys[2], values[2];

    uint64_t &key(uint32_t slot) { return keys[slot / HalfSlots].words[slot % HalfSlots]; }
    uint64_t &value(uint32_t slot) { return values[slot / HalfSlots].words[slot % HalfSlots]; }
};
static_assert(sizeof(LeafLines) == 5 * 64, "as Masstree's");

template <class Memory> class LeafMap {
  public:
    static constexpr uint64_t ValueMax = (uint64_t{1} << 44) - 1;

    struct alignas(64) Header {
        uint64_t magic, epoch;
    };
    struct alignas(64) Logged {
        uint64_t epoch, leaf; // the copy is valid in this epoch only
        alignas(64) LeafLines copy;
    };

    static size_t linesOf(size_t leaves, size_t logged) {
        return (sizeof(Header) + leaves * sizeof(LeafLines) + logged * sizeof(Logged)) / 64;
    }

    // The memory is zeroed, or in the state after a crash.
    LeafMap(Memory &memory, size_t leaves, size_t logged)
        : memory(memory), header(reinterpret_cast<Header *>(memory.words())),
          leaf(reinterpret_cast<LeafLines *>(header + 1)), log(reinterpret_cast<Logged *>(leaf + leaves)),
          leaves(leaves), log_max(logged), free_in(leaves) {
        if (header->magic == Magic)
            recover();
        else
            format();
        readIndex();
    }

    std::optional<uint64_t> find(uint64_t key) const {
        LeafLines &at = leaf[leafOf(key)];
        auto [position, found] = place(at, key);
        return found ? std::optional(at.value(Permutation(at.permutation).at(position))) : std::nullopt;
    }

    void put(uint64_t key, uint64_t value) {
        if (value > ValueMax)
            throw std::invalid_argument("a value has more than 44 bits");
        uint64_t number = leafOf(key);
        if (Permutation(leaf[number].permutation).count() == LeafLines::Slots && !place(leaf[number], key).found)
            number = split(number, key);
        LeafLines &at = leaf[number];
        auto [position, found] = place(at, key);
        if (found)
            return change(number, Permutation(at.permutation).at(position), value);
        touch(number);
        Permutation order(at.permutation);
        uint32_t slot = freeSlot(number);
        set(at.key(slot), key);
        set(at.value(slot), value);
        set(at.permutation, inserted(order, position, slot).bits());
    }

    // False if the key does not exist.
    bool update(uint64_t key, uint64_t value) {
        if (value > ValueMax)
            throw std::invalid_argument("a value has more than 44 bits");
        uint64_t number = leafOf(key);
        auto [position, found] = place(leaf[number], key);
        if (found)
            change(number, Permutation(leaf[number].permutation).at(position), value);
        return found;
    }

    bool erase(uint64_t key) {
        uint64_t number = leafOf(key);
        LeafLines &at = leaf[number];
        auto [position, found] = place(at, key);
        if (!found)
            return false;
        touch(number);
        set(at.permutation, Permutation(at.permutation).removed(position).bits());
        return true;
    }

    // All changes of the epoch are durable on return.
    void endEpoch() {
        flushAll();
        memory.fence();
        beginEpoch(header->epoch + 1);
    }

    template <class Visit> void forEach(Visit &&visit) const {
        for (uint64_t number = 0, more = 1; more; number = leaf[number].next, more = number) {
            Permutation order(leaf[number].permutation);
            for (uint32_t i = 0; i < order.count(); i++)
                visit(leaf[number].key(order.at(i)), leaf[number].value(order.at(i)));
        }
    }

    uint64_t leavesLogged() const { return logged_ever; }

  private:
    static constexpr uint64_t Magic = 0x3150414d4641454c; // "LEAFMAP1"
    static constexpr uint64_t TagMask = 0xffff;

    void set(uint64_t &word, uint64_t value) {
        memory.store(&word, value);
        uintptr_t line = reinterpret_cast<uintptr_t>(&word) / 64 * 64;
        if (dirty.empty() || dirty.back() != line)
            dirty.push_back(line);
    }
    void flushAll() {
        std::sort(dirty.begin(), dirty.end());
        dirty.erase(std::unique(dirty.begin(), dirty.end()), dirty.end());
        for (uintptr_t line : dirty)
            memory.flush(reinterpret_cast<void *>(line));
        dirty.clear();
    }
    void setEpoch(uint64_t epoch) {
        set(header->epoch, epoch);
        flushAll();
        memory.fence();
        log_count = 0;
    }

    // No changes are made in an epoch with the tag 0. This epoch clears all tags: a tag from 65,536 epochs ago would be
    // taken for one of a later epoch.
    void beginEpoch(uint64_t epoch) {
        setEpoch(epoch);
        if (epoch & TagMask)
            return;
        forgetTags();
        setEpoch(epoch + 1);
    }
    void forgetTags() {
        for (size_t number = 0; number < leaves; number++)
            for (LeafLines::Half &half : leaf[number].values)
                set(half.undo, 0);
        flushAll();
        memory.fence();
    }

    uint64_t leafOf(uint64_t key) const { return std::prev(index.upper_bound(key))->second; }

    struct Place {
        uint32_t position;
        bool found;
    };
    static Place place(LeafLines &at, uint64_t key) {
        Permutation order(at.permutation);
        uint32_t position = 0;
        while (position < order.count() && at.key(order.at(position)) < key)
            position++;
        return {position, position < order.count() && at.key(order.at(position)) == key};
    }

    // ---- Undo ----

    bool isFree(uint64_t number) const { return free_in[number] == header->epoch; }

    // Ensures that the permutation's copy is of this epoch. The copy is stored before the epoch, in the same line.
    void touch(uint64_t number) {
        LeafLines &at = leaf[number];
        if (at.epoch == header->epoch || isFree(number))
            return;
        set(at.permutation_before, at.permutation);
        set(at.epoch, header->epoch);
    }

    static bool has(Permutation order, uint32_t slot) {
        for (uint32_t i = 0; i < order.count(); i++)
            if (order.at(i) == slot)
                return true;
        return false;
    }

    // Returns a slot that the beginning of the epoch does not need, or any free slot if the leaf is in the log. The
    // leaf must have been touched.
    uint32_t freeSlot(uint64_t number) {
        for (;;) {
            LeafLines &at = leaf[number];
            bool any = isFree(number);
            for (uint32_t slot = 0; slot < LeafLines::Slots; slot++)
                if (!has(Permutation(at.permutation), slot) && (any || !has(Permutation(at.permutation_before), slot)))
                    return slot;
            writeLog(number);
        }
    }

    // Inserts this slot, wherever it is among the free slots. No leaf uses slot 14.
    static Permutation inserted(Permutation order, uint32_t position, uint32_t slot) {
        uint64_t bits = order.bits();
        for (uint32_t i = order.count() + 1; i < Permutation::Slots; i++)
            if (order.at(i) == slot) {
                uint64_t swapped = order.free() ^ slot;
                bits ^= swapped << (4 + 4 * i) ^ swapped << (4 + 4 * order.count());
            }
        return Permutation(bits).inserted(position);
    }

    void change(uint64_t number, uint32_t slot, uint64_t value) {
        LeafLines &at = leaf[number];
        bool is_new = at.epoch == header->epoch && !has(Permutation(at.permutation_before), slot);
        uint64_t &undo = at.values[slot / LeafLines::HalfSlots].undo;
        uint64_t tag = uint64_t{slot} << 16 | (header->epoch & TagMask), there = undo & 0xfffff, old = at.value(slot);
        if (!isFree(number) && !is_new && there != tag) {
            if ((there & TagMask) != (tag & TagMask))
                set(undo, old << 20 | tag);
            else
                writeLog(number);
        }
        set(at.value(slot), value);
    }

    // Logs the leaf as it is now, including its copies from the beginning of the epoch. The logged leaf is durable
    // before its entry becomes valid, and the entry before the leaf changes.
    void writeLog(uint64_t number) {
        if (log_count == log_max)
            throw std::runtime_error("the log has no room: end the epoch, or make it larger");
        Logged &entry = log[log_count++];
        auto from = reinterpret_cast<uint64_t *>(&leaf[number]), to = reinterpret_cast<uint64_t *>(&entry.copy);
        for (size_t i = 0; i < sizeof(LeafLines) / sizeof(uint64_t); i++)
            memory.store(&to[i], from[i]);
        for (size_t line = 0; line < sizeof(LeafLines) / 64; line++)
            memory.flush(&to[8 * line]);
        memory.fence();
        memory.store(&entry.leaf, number);
        memory.store(&entry.epoch, header->epoch);
        memory.flush(&entry);
        memory.fence();
        free_in[number] = header->epoch;
        logged_ever++;
    }

    // Moves the upper half to another leaf. Returns the leaf that takes the key.
    uint64_t split(uint64_t number, uint64_t key) {
        if (spare == leaves)
            throw std::runtime_error("the map has no room for more leaves");
        if (!isFree(number))
            writeLog(number);
        LeafLines &left = leaf[number], &right = leaf[spare];
        Permutation order(left.permutation), moved;
        for (uint32_t i = LeafLines::HalfSlots; i < LeafLines::Slots; i++) {
            set(right.key(moved.free()), left.key(order.at(i)));
            set(right.value(moved.free()), left.value(order.at(i)));
            moved = moved.inserted(moved.count());
        }
        for (LeafLines::Half &half : right.values)
            set(half.undo, 0);
        set(right.epoch, 0);
        set(right.permutation, moved.bits());
        set(right.lowest, right.key(moved.at(0)));
        set(right.next, left.next);
        set(left.next, spare);
        set(left.permutation, order.cut(LeafLines::HalfSlots).bits());
        free_in[spare] = header->epoch; // a crash removes the new leaf as a whole
        index[right.lowest] = spare;
        return key < right.lowest ? spare++, number : spare++;
    }

    // ---- Opening ----

    void format() {
        set(leaf[0].permutation, Permutation().bits());
        set(header->epoch, 1);
        flushAll();
        memory.fence();
        set(header->magic, Magic);
        flushAll();
        memory.fence();
    }

    // Undoes the stores of the epoch: the logged leaves first, because they contain undo copies of their own.
    void recover() {
        const uint64_t failed = header->epoch;
        for (size_t i = 0; i < log_max && log[i].epoch == failed; i++) {
            auto from = reinterpret_cast<uint64_t *>(&log[i].copy),
                 to = reinterpret_cast<uint64_t *>(&leaf[log[i].leaf]);
            for (size_t word = 0; word < sizeof(LeafLines) / sizeof(uint64_t); word++)
                set(to[word], from[word]);
        }
        for (size_t number = 0; number < leaves; number++) {
            LeafLines &at = leaf[number];
            if (at.epoch == failed)
                set(at.permutation, at.permutation_before);
            for (uint32_t half = 0; half < 2; half++) {
                uint64_t undo = at.values[half].undo;
                if ((failed & TagMask) && (undo & TagMask) == (failed & TagMask))
                    set(at.value(undo >> 16 & 15), undo >> 20);
            }
        }
        flushAll();
        memory.fence();
        if (!(failed & TagMask))
            forgetTags();
        beginEpoch(failed + 1);
    }

    // Leaves that no link leads to are free, such as the new leaf of an undone split. Leaves are used in order.
    void readIndex() {
        index[0] = 0;
        uint64_t last = 0;
        for (uint64_t number = leaf[0].next; number; number = leaf[number].next) {
            index[leaf[number].lowest] = number;
            last = std::max(last, number);
        }
        spare = last + 1;
    }

    Memory &memory;
    Header *header;
    LeafLines *leaf;
    Logged *log;
    size_t leaves, log_max, log_count = 0, spare = 1;
    uint64_t logged_ever = 0;
    std::map<uint64_t, uint64_t> index; // leaf by the lowest key that it may have
    std::vector<uint64_t> free_in;      // by leaf: the epoch that may change it without a copy; 0: none
    std::vector<uintptr_t> dirty;       // lines stored to since the last flushAll(), some several times
};

} // namespace rivals
