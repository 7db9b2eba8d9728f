// SPDX-License-Identifier: BSD-3-Clause
//
// A hash map with buffered durability after Montage (Wen et al., "Montage: A General System for Buffered Durably
// Linearizable Data Structures"): the index is in DRAM, and persistent memory has a bag of payloads, one line each,
// that state the epoch in which they were made. A crash in epoch c leaves the state at the end of epoch c - 2.
//
//  - New payloads wait in a buffer. The end of epoch e writes back the rest of epoch e - 1, fences, and only then
//    advances the clock in persistent memory. When a buffer is full, its oldest payloads are written back earlier.
//  - An update makes another payload with the same identity, and a removal makes a payload that states the removal. The
//    older payload stays unchanged until a crash can no longer need it, two epochs later.
//  - Memory is reused only after it has been marked, durably, as no payload: a line may be torn, and half of a new
//    payload must not be taken for an old one. A removal is dropped one epoch after the payload that it removed.
//
// For one thread, or several that take turns. The persistence layer is the library's (runtime/log/persist.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

extern "C" {
#include "log/persist.h"
}

namespace rivals {

struct alignas(64) Payload {
    uint64_t epoch;    // 0: not a payload
    uint64_t identity; // the same for all versions of one pair
    uint64_t removes;  // 1: the pair does not exist from this version on
    uint64_t value;
    char key[32]; // padded with zeros
};
struct alignas(64) Clock {
    uint64_t magic, epoch; // the magic is written when there is an epoch
    uint64_t unused[6];
};
static_assert(sizeof(Payload) == 64 && sizeof(Clock) == 64);

class PayloadMap {
  public:
    static constexpr uint64_t FirstEpoch = 3; // no payload is as old as FirstEpoch - 2
    static constexpr size_t KeyBytesMax = sizeof(Payload::key) - 1;

    // The map uses all of `lines` lines at `memory`, which are zeroed or in the state after a crash. The buffer has at
    // most `buffered` payloads.
    PayloadMap(void *memory, size_t lines, size_t buffered)
        : clock(static_cast<Clock *>(memory)), payloads(static_cast<Payload *>(memory) + 1), count(lines - 1),
          buffered_max(buffered) {
        if (clock->magic == Magic)
            recover();
        else
            format();
    }

    std::optional<uint64_t> find(std::string_view key) const {
        auto found = index.find(key);
        return found == index.end() ? std::nullopt : std::optional(payloadOf(found->second).value);
    }

    void put(std::string_view key, uint64_t value) {
        if (key.size() > KeyBytesMax)
            throw std::invalid_argument("a key has more than " + std::to_string(KeyBytesMax) + " bytes");
        if (update(key, value))
            return;
        Payload payload{epoch, identity_next++, 0, value, {}};
        memcpy(payload.key, key.data(), key.size());
        index.emplace(key, make(payload));
    }

    // False if the key does not exist.
    bool update(std::string_view key, uint64_t value) {
        auto found = index.find(key);
        if (found == index.end())
            return false;
        Payload payload = payloadOf(found->second);
        payload.epoch = epoch;
        payload.value = value;
        found->second = replace(found->second, payload);
        return true;
    }

    bool erase(std::string_view key) {
        auto found = index.find(key);
        if (found == index.end())
            return false;
        Payload payload = payloadOf(found->second);
        size_t place = found->second;
        index.erase(found);
        uint64_t made = payload.epoch;
        payload.epoch = epoch;
        payload.removes = 1;
        // If the payload and its removal are of the same epoch, no crash leaves the one without the other, so the
        // removal replaces the payload. The removal is still needed, because an older version of the pair may exist.
        size_t removal = made == epoch ? replace(place, payload) : make(payload);
        if (made != epoch)
            retire(place);
        removals.push_back({removal, epoch});
        return true;
    }

    // All changes of the previous epoch are durable on return.
    void endEpoch() {
        const uint64_t before = epoch - 1;
        writeBack(before);
        fence();
        free.insert(free.end(), invalidated.begin(), invalidated.end());
        invalidated.clear();
        epoch++, setClock();
        reclaim();
    }
    // All changes until now are durable on return.
    void sync() {
        endEpoch();
        endEpoch();
    }

    uint64_t epochNow() const { return epoch; }
    size_t size() const { return index.size(); }
    uint64_t linesWritten() const { return lines_written; }
    uint64_t fences() const { return fence_count; }
    template <class Visit> void forEach(Visit &&visit) const {
        for (const auto &[key, place] : index)
            visit(key, payloadOf(place).value);
    }

  private:
    static constexpr uint64_t Magic = 0x3150414d44594150; // "PAYDMAP1"

    struct Hash { // also for look-ups by std::string_view
        using is_transparent = void;
        size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
    };
    struct Retired {
        size_t place;
        uint64_t epoch; // the epoch in which it was replaced
    };

    // The payload in the buffer or, if it was written back, in persistent memory.
    const Payload &payloadOf(size_t place) const {
        auto waiting = buffer.find(place);
        return waiting == buffer.end() ? payloads[place] : waiting->second;
    }

    void write(void *target, const void *line) {
        persist_copy(target, line, 64);
        lines_written++;
    }
    void fence() {
        persist_fence();
        fence_count++;
    }

    // ---- Operations ----

    size_t make(const Payload &payload) {
        if (free.empty())
            throw std::runtime_error("the map has no room: end an epoch, or make it larger");
        size_t place = free.front(); // the oldest first
        free.pop_front();
        put(place, payload);
        return place;
    }

    // Replaces a payload of this epoch in place: no crash can need a part of this epoch.
    size_t replace(size_t place, const Payload &payload) {
        if (payloadOf(place).epoch == epoch) {
            put(place, payload);
            return place;
        }
        size_t made = make(payload);
        retire(place);
        return made;
    }

    void put(size_t place, const Payload &payload) {
        if (buffer.insert_or_assign(place, payload).second)
            order.push_back(place);
        while (order.size() > buffered_max)
            writeBackFirst();
    }

    void retire(size_t place) { retired.push_back({place, epoch}); }

    // ---- Epochs ----

    void writeBackFirst() {
        size_t place = order.front();
        order.pop_front();
        write(&payloads[place], &buffer.at(place));
        buffer.erase(place);
    }

    // The buffer is in the order of epochs.
    void writeBack(uint64_t last) {
        while (!order.empty() && buffer.at(order.front()).epoch <= last)
            writeBackFirst();
    }

    void setClock(uint64_t magic = Magic) {
        Clock now{magic, epoch, {}};
        write(clock, &now);
        fence();
    }

    // Invalidates payloads with replacements that can be recovered. A removal must exist until the payload that it
    // removed is invalid.
    void reclaim() {
        const uint64_t wait = 2, wait_removal = 3;
        for (; !retired.empty() && retired.front().epoch + wait <= epoch; retired.pop_front())
            invalidate(retired.front().place);
        for (; !removals.empty() && removals.front().epoch + wait_removal <= epoch; removals.pop_front())
            invalidate(removals.front().place);
    }

    // Changes one word only: if more words changed, a torn line could leave another payload of that epoch.
    void invalidate(size_t place) {
        Payload none = payloads[place];
        none.epoch = 0;
        if (buffer.count(place))
            throw std::logic_error("a payload is reclaimed before it was written");
        write(&payloads[place], &none);
        invalidated.push_back(place);
    }

    void format() {
        for (size_t place = 0; place < count; place++)
            free.push_back(place);
        epoch = FirstEpoch;
        setClock(0);
        setClock(Magic);
    }

    // ---- Recovery ----

    void recover() {
        const uint64_t last = clock->epoch - 2;
        std::unordered_map<uint64_t, size_t> newest; // the newest valid payload of each identity
        for (size_t place = 0; place < count; place++) {
            const Payload &payload = payloads[place];
            identity_next = std::max(identity_next, payload.identity + 1);
            if (payload.epoch == 0 || payload.epoch > last)
                continue;
            auto [known, is_first] = newest.try_emplace(payload.identity, place);
            if (!is_first && payloads[known->second].epoch < payload.epoch)
                known->second = place;
        }
        epoch = clock->epoch + 2; // no payload was ever made in this epoch or a later one
        for (const auto &[identity, place] : newest)
            if (!payloads[place].removes)
                index[std::string(payloads[place].key, strnlen(payloads[place].key, sizeof(Payload::key)))] = place;
        clear(last);
        setClock();
    }

    // Invalidates all other payloads; removals only after a fence, so that a removal exists until the payload that it
    // removed is invalid.
    void clear(uint64_t last) {
        std::vector<bool> is_kept(count);
        for (const auto &[key, place] : index)
            is_kept[place] = true;
        for (int removing = 0; removing < 2; removing++) {
            for (size_t place = 0; place < count; place++) {
                bool is_removal = payloads[place].removes && payloads[place].epoch <= last;
                if (payloads[place].epoch && !is_kept[place] && is_removal == (removing == 1))
                    invalidate(place);
            }
            fence();
        }
        invalidated.clear();
        free.clear();
        for (size_t place = 0; place < count; place++)
            if (!is_kept[place])
                free.push_back(place);
    }

    Clock *clock;
    Payload *payloads;
    size_t count, buffered_max;
    uint64_t epoch = 0, identity_next = 1, lines_written = 0, fence_count = 0;
    std::unordered_map<std::string, size_t, Hash, std::equal_to<>> index;
    std::unordered_map<size_t, Payload> buffer; // payloads that are not in persistent memory yet, by place
    std::deque<size_t> order;                   // order of the buffer
    std::deque<Retired> retired, removals;
    std::vector<size_t> invalidated; // not to be reused until the next fence
    std::deque<size_t> free;
};

} // namespace rivals
