// SPDX-License-Identifier: BSD-3-Clause
//
// The possible contents of persistent memory after a power cut, by the events of lines of 64 bytes that preceded it:
//
//  - Each line has any content that it had since it was last made durable, independently of all other lines: caches
//    write lines back at any time, and the stores to a line reach it in order. A line travels whole.
//  - Non-temporal stores wait in buffers outside the caches. Their words of 8 bytes arrive in any order relative to
//    stores to other words of the line.
//  - A flush and the next fence of the same core make the line's content of the time of the flush durable. A fence does
//    the same for the core's earlier non-temporal stores, and for earlier stores to the same words.
//
// experiments/testbed/crash/states.py has the same model for whole guests, written independently; a test compares them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <new>
#include <random>
#include <vector>

#include "choices.hpp"

constexpr size_t LineBytes = 64;

template <class T> struct LineAligned {
    using value_type = T;
    LineAligned() = default;
    template <class Other> LineAligned(const LineAligned<Other> &) {}
    T *allocate(size_t count) { return static_cast<T *>(operator new(count * sizeof(T), std::align_val_t{LineBytes})); }
    void deallocate(T *memory, size_t count) {
        operator delete(memory, count * sizeof(T), std::align_val_t{LineBytes});
    }
    bool operator==(const LineAligned &) const { return true; }
};

using Medium = std::vector<uint8_t, LineAligned<uint8_t>>;

constexpr unsigned EveryCore = 0;

struct MediaEvent {
    enum Kind : uint8_t { Store, NonTemporalStore, Flush, Fence } kind;
    unsigned core = 1;  // EveryCore: a fence for the stores and flushes of all cores
    size_t line = 0;    // its offset
    uint64_t bytes = 0; // bit n: byte n of the line is stored
    std::array<uint8_t, LineBytes> content{};
};

class CrashStates {
  public:
    using Visit = std::function<void(Medium &)>;

    CrashStates(Medium durable, uint64_t seed) : certain(std::move(durable)), random(seed) {}

    void follow(const MediaEvent &event);

    // Visits the states that are possible now: those of whole stores, and as many again in which words of some
    // non-temporal stores are missing or early. Each is a copy that the visitor may change.
    void forEach(const Sampling &sampling, const Visit &visit);

    // The state in which nothing is there that need not be.
    const Medium &durable() const { return certain; }

  private:
    struct Pending {
        std::vector<MediaEvent> stores;
        std::vector<std::map<unsigned, uint64_t>>
            awaited; // for each: the bytes that the next fence of a core waits for

        void flush(unsigned core);
        void send(unsigned core, size_t last);
        uint64_t awaitedBy(unsigned core, size_t store) const;
    };

    void fence(unsigned core);
    bool changesNothing(const MediaEvent &store) const;
    size_t nonTemporalStores() const;
    Medium stateOf(const Choice &choice, size_t tearable);

    Medium certain;
    std::map<size_t, Pending> pending; // by line
    std::mt19937_64 random;
};

// A place of a power cut.
struct Crash {
    size_t position;  // events before it were issued
    bool is_last;     // all events were issued, the call returned
    uint64_t ordinal; // among the states of this position
};

// Before each event, or only before each fence; and in both cases at the end.
enum class CutBefore { EachEvent, EachFence };

// Visits the states at the places of `cut`, beginning behind the first `passed` events. The medium was `before` and is
// durable.
void exploreCrashes(const Medium &before, const std::vector<MediaEvent> &events, CutBefore cut,
                    const Sampling &sampling, uint64_t seed, const std::function<void(const Crash &, Medium &)> &visit,
                    size_t passed = 0);
