// SPDX-License-Identifier: BSD-3-Clause
//
// A power cut decides separately about each of several things: how many of its changes are there afterwards, the first
// of them in their order. The combinations that are explored: all of them, or a sample.
#pragma once

#include <cstddef>
#include <functional>
#include <random>
#include <vector>

// All combinations, if there are at most `exhaustive`. Otherwise no changes, all changes, for up to `alone` of the
// things the changes of this one alone and those of all others, and `random` seeded combinations.
struct Sampling {
    size_t exhaustive = 0, random = 0, alone = 0;
};

// For each thing, how many of its changes are there.
using Choice = std::vector<size_t>;

// `changes`: for each thing, how many changes it has.
void forEachChoice(const std::vector<size_t> &changes, const Sampling &sampling, std::mt19937_64 &random,
                   const std::function<void(const Choice &)> &visit);
