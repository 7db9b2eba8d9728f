// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that work together, each on a CPU of its own if there are enough CPUs. The threads are created before run()
// and wait for it, so that no region of interest includes their creation or their end.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "together.hpp"

namespace workloads {

class Crew {
  public:
    // `work` gets the number of the thread; the caller of run() is number 0.
    Crew(uint64_t size, std::function<void(uint64_t)> work) : work(std::move(work)), at_work(size) {
        bool settles =
            sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && static_cast<uint64_t>(CPU_COUNT(&cpus)) >= size;
        for (uint64_t number = 1; number < size; number++)
            others.emplace_back([this, number, settles] {
                if (settles)
                    settle(number);
                arrived++;
                for (Patience patience; !begun;)
                    patience.wait();
                doWork(number);
            });
        if (settles)
            settle(0);
        for (Patience patience; arrived + 1 < size;)
            patience.wait(); // a thread that has not run yet may be on this CPU
    }
    ~Crew() {
        run(); // if it was not called before
        for (std::thread &other : others)
            other.join();
    }
    Crew(const Crew &) = delete;
    Crew &operator=(const Crew &) = delete;

    // Returns when every thread has done its work.
    void run() {
        if (begun.exchange(true))
            return;
        doWork(0);
        for (Patience patience; at_work > 0;)
            patience.wait();
    }

  private:
    // Pins the calling thread to the CPU with this number among the CPUs that the process may use.
    void settle(uint64_t number) const {
        unsigned cpu = 0;
        for (uint64_t before = 0; !CPU_ISSET(cpu, &cpus) || before++ != number;)
            cpu++;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof(one), &one);
    }

    void doWork(uint64_t number) {
        try {
            work(number);
        } catch (const std::exception &error) { // the others would wait for this one for ever
            fprintf(stderr, "%s\n", error.what());
            _exit(2);
        }
        at_work--;
    }

    std::function<void(uint64_t)> work;
    cpu_set_t cpus;
    std::atomic<uint64_t> at_work;
    std::atomic<uint64_t> arrived = 0; // number of other threads that have started
    std::atomic<bool> begun = false;
    std::vector<std::thread> others;
};

} // namespace workloads
