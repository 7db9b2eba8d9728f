// SPDX-License-Identifier: GPL-2.0-or-later
// Random persistence operations on the lines of one device, in the model and in the reference, compared after every
// step. Unlike in scenario.h, the order is not limited to that of the present device: writes are accepted and programs
// end in any order.
#pragma once

#include "scenario.h"

// Like run_scenario().
std::string run_persist_scenario(Choices &choices);
