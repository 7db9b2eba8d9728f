// SPDX-License-Identifier: BSD-3-Clause
//
// The core's interface, for C++.
#pragma once

#define _Static_assert static_assert
extern "C" {
#include "persist.h"
#include "tbfs.h"
}
