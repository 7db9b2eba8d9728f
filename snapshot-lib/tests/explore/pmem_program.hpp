// SPDX-License-Identifier: BSD-3-Clause
//
// A program that stores through a mapping and makes durable with libpmem, for the model of a power cut (the rig
// power_cut/media.hpp). The functions of libpmem are defined here, in the program, and take the place of the library's.
// Stores are seen at the next call of libpmem or look(), as stores of whole lines: the content of a line between two of
// these is not explored. Of one thread.
#pragma once

#include <functional>
#include <string>

#include "media.hpp"

class PmemProgram {
  public:
    // The present content of the file is durable. `crash_point` is called before each drain takes effect: the states
    // then include all that a cut since the previous drain could leave.
    PmemProgram(std::string path, std::function<void()> crash_point);
    ~PmemProgram();
    PmemProgram(const PmemProgram &) = delete;
    PmemProgram &operator=(const PmemProgram &) = delete;

    // Visits the states that a power cut may leave now.
    void forEachState(const Sampling &sampling, const CrashStates::Visit &visit) { states.forEach(sampling, visit); }

    void look();

    // For the interposed functions.
    void flush(const void *address, size_t bytes);
    void drain();

  private:
    static constexpr size_t PageBytes = 4096;

    bool locate();
    void lookAtPage(size_t offset);

    std::string path;
    std::function<void()> crash_point;
    const uint8_t *memory = nullptr; // where the file is mapped
    Medium seen;
    CrashStates states;
    bool busy = false;
};

// The one that is told; null: none.
extern PmemProgram *pmem_program;

// Seeded bugs, to see that they are found: nothing is flushed; drains wait for nothing.
extern bool pmem_bug_no_flush, pmem_bug_no_drain;
