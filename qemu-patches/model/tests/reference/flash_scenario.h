// SPDX-License-Identifier: GPL-2.0-or-later
// A random run of flash beside the reference. Returns the first difference, or "" if there is none.
#pragma once

#include "scenario.h"

std::string run_flash_scenario(Choices &choices);
