// SPDX-License-Identifier: BSD-3-Clause
//
// Commits of engines with transactions that cover the stores of all threads. The rule for threads forbids stores beside
// a commit, so stores take turns, and the last of the threads that have come to store commits for all of them. A thread
// that comes alone commits at once, for itself.
#pragma once

#include <immintrin.h>
#include <sched.h>

#include <atomic>
#include <cstdint>

namespace workloads {

// Waits between two looks at a word that another thread will change. This takes less time than to sleep and be woken,
// if each thread has a CPU.
class Patience {
  public:
    void wait() {
        if (++looks % 256)
            _mm_pause();
        else
            sched_yield();
    }

  private:
    unsigned looks = 0;
};

class SpinLock {
  public:
    void lock() {
        for (Patience patience; held.exchange(true, std::memory_order_acquire);)
            while (held.load(std::memory_order_relaxed))
                patience.wait();
    }
    void unlock() { held.store(false, std::memory_order_release); }

  private:
    std::atomic<bool> held = false;
};

class Together {
  public:
    // Returns when a commit() has the stores of change().
    template <class Change, class Commit> void commit(Change &&change, Commit &&commit) {
        coming.fetch_add(1);
        turn.lock();
        change();
        uint64_t wanted = commits.load() + 1;
        bool last = coming.fetch_sub(1) == 1;
        if (last) {
            commit();
            commits.store(wanted);
        }
        turn.unlock();
        for (Patience patience; !last && commits.load() < wanted;)
            patience.wait();
    }

  private:
    alignas(64) SpinLock turn;
    alignas(64) std::atomic<uint64_t> coming = 0; // threads that have yet to store before the next commit
    alignas(64) std::atomic<uint64_t> commits = 0;
};

} // namespace workloads
