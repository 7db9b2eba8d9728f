// SPDX-License-Identifier: BSD-3-Clause
//
// What a medium may hold after a power cut: of each line any content that it had since it was last made durable,
// independently of all others. Words of stores past the caches arrive in any order with all stores to other words.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "recorder.hpp"

using Medium = std::vector<uint8_t>;

// All states if there are at most `exhaustive`. Else all stores and none, for up to `lines` lines each one alone there
// and alone missing, and `random` seeded ones. `skips_equal`: copies past the caches of the bytes that are durable
// there count as no store, so that the sample has more of those that matter. No state is lost.
struct Sampling {
    size_t exhaustive, random, lines = 32;
    bool skips_equal = false;
};

class CrashStates {
  public:
    using Visit = std::function<void(Medium &)>;

    CrashStates(Medium durable, uint64_t seed, bool skips_equal = false)
        : durable(std::move(durable)), random(seed), skips_equal(skips_equal) {}

    void follow(const PersistEvent &event);

    // States that are possible now. Visited is a copy, to be spoilt.
    void forEach(const Sampling &sampling, const Visit &visit);

  private:
    struct Pending {
        std::vector<const PersistEvent *> stores;
        std::vector<bool> flushed; // which of them are durable after the next fence

        void flushWithEarlier(size_t last);
    };
    using Choice = std::map<size_t, size_t>; // of a line, how many of its stores are there

    void fence();
    bool isEqual(const PersistEvent &event) const;
    void visitChoice(const Choice &choice, bool torn, const Visit &visit);
    bool hasAnyPast() const;
    Choice chooseAll(bool newest) const;

    Medium durable;
    std::map<size_t, Pending> pending;
    std::mt19937_64 random;
    bool skips_equal;
};

// At each fence and at the end: the states of events that begin with `before`. The flag says whether it is the end. The
// first `passed` events have happened, without a cut.
void exploreCrashes(const Medium &before, const std::vector<PersistEvent> &events, const Sampling &sampling,
                    uint64_t seed, const std::function<void(Medium &, bool is_end)> &visit, size_t passed = 0);
