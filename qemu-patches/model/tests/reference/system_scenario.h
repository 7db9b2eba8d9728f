// SPDX-License-Identifier: GPL-2.0-or-later
// A random run of a whole memory system beside ref_system.h: core, prefetcher, several devices and windows, device
// policies, changes at run time. Stalls, slots, counters and histograms are compared after every step.
#pragma once

#include "scenario.h"

extern "C" {
#include "memsys.h"
}

// Run until there are no more choices. Returns the first difference, or ""; with `counters` also what was counted
// since the counters were reset last, which is how a test knows what a run has reached.
std::string run_system_scenario(Choices &choices, uint32_t cores, MemCounters *counters = nullptr);
