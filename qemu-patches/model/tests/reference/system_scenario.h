// SPDX-License-Identifier: GPL-2.0-or-later
// A random run of a whole memory system and of ref_system.h: cores, prefetcher, several devices and windows, device
// policies, changes at run time. Stalls, slots, counters and histograms are compared after every step.
#pragma once

#include "scenario.h"

extern "C" {
#include "memsys.h"
}

// Run until there are no more choices. Returns the first difference, or "". `counters`, if given, receives the counters
// since their last reset, from which a test can tell the events that the run reached.
std::string run_system_scenario(Choices &choices, uint32_t cores, MemCounters *counters = nullptr);
