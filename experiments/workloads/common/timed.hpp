// SPDX-License-Identifier: BSD-3-Clause
//
// An engine with commits that can be timed: from the end of the change to the end of the transaction.
#pragma once

#include <atomic>
#include <cstdint>

#include "clock.hpp"

namespace workloads {

template <class Engine> class Timed : public Engine {
  public:
    using Engine::Engine;

    void setTimed(bool on) { timed = on; }
    bool isTimed() const { return timed; }

    // The sum over the commits of all threads since the pool was opened; 0 if they are not timed.
    uint64_t commitNs() const { return commit_ns; }

    template <class Change> void transaction(Change &&change) {
        uint64_t begin_ns = 0;
        Engine::transaction([&] {
            change();
            if (timed)
                begin_ns = nowNs();
        });
        if (timed)
            commit_ns += nowNs() - begin_ns;
    }

  private:
    bool timed = false;
    std::atomic<uint64_t> commit_ns = 0;
};

} // namespace workloads
