// SPDX-License-Identifier: GPL-2.0-or-later
// A random life of one device's lines, told to the model and to the reference and compared after every step.
// Unlike scenario.h it is not bound to what today's device does: writes are accepted and programs end in any order.
#pragma once

#include "scenario.h"

// As run_scenario().
std::string run_persist_scenario(Choices &choices);
