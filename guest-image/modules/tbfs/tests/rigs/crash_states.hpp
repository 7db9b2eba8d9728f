// SPDX-License-Identifier: BSD-3-Clause
//
// The possible contents of a medium after a power cut. Each line has any content that it had since it was last made
// durable, independently of all other lines. Words of stores past the caches arrive in any order relative to stores to
// other words.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "recorder.hpp"

using Medium = std::vector<uint8_t>;

// All states, if there are at most `exhaustive`. Otherwise all stores, no stores, for up to `lines` lines each line
// alone present and alone missing, and `random` seeded states. `skips_equal` ignores copies past the caches of bytes
// that are already durable there, so that the sample has more of the stores that matter. No state is lost.
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

    // Visits the states that are possible now. Each is a copy that the visitor may change.
    void forEach(const Sampling &sampling, const Visit &visit);

  private:
    struct Pending {
        std::vector<const PersistEvent *> stores;
        std::vector<bool> flushed; // true: durable after the next fence

        void flushWithEarlier(size_t last);
    };
    using Choice = std::map<size_t, size_t>; // for each line, the number of its stores that are present

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

// Visits the states at each fence and at the end of the events, which begin with the medium `before`. The flag is true
// at the end. The first `passed` events happen without a cut.
void exploreCrashes(const Medium &before, const std::vector<PersistEvent> &events, const Sampling &sampling,
                    uint64_t seed, const std::function<void(Medium &, bool is_end)> &visit, size_t passed = 0);
