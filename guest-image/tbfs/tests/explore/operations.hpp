// SPDX-License-Identifier: BSD-3-Clause
//
// What is explored: one or two of these operations on a small tree. With pages' logs there are more of both.
#pragma once

#include <vector>

#include "operation.hpp"

extern const std::vector<Operation> preparation, operations, hybrid_preparation, hybrid_operations, idle_operations;
