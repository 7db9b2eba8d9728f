// SPDX-License-Identifier: GPL-2.0-or-later
// A random run of flash and of the reference. Returns the first difference, or "" if they agree.
#pragma once

#include "scenario.h"

std::string run_flash_scenario(Choices &choices);
