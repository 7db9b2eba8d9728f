// SPDX-License-Identifier: BSD-3-Clause
//
// Reports each commit as it happens: to the testbed, and to a file that survives the process.
#pragma once

#include <cstdint>

#include "acknowledge.hpp"
#include "options.hpp"
#include "testbed_roi.h"

namespace workloads {

class Progress {
  public:
    explicit Progress(const Options &options) : marks(options.marks), acknowledge(options.acknowledge_file) {}

    // To be called when one more operation is durable.
    void committed() {
        commits++;
        acknowledge.set(commits);
        if (marks)
            testbed_mark(static_cast<uint32_t>(commits));
    }

  private:
    bool marks;
    Acknowledge acknowledge;
    uint64_t commits = 0;
};

} // namespace workloads
