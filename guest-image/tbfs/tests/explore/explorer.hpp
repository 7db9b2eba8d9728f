// SPDX-License-Identifier: BSD-3-Clause
//
// The crash states of one operation, after others in the same mount: each state is recovered, judged and used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model.hpp"
#include "operations.hpp"

extern "C" const char *tbfs_seeded_bug;

// How much is explored: one in so many states is cut again in recovery, or followed by another operation and a cut.
struct Depth {
    Sampling sampling;
    size_t recovery_every, chain_every;
};
struct Totals {
    uint64_t operations, states, recoveries, chains, violations;
};

extern Depth depth;
extern struct tbfs_options options;
extern std::vector<Operation> explored;
extern bool tears_units, is_full, has_orphans;
extern std::string context; // of each violation that is printed: the policies, for example
extern Totals totals;
inline const std::string Filling = "/filling"; // takes all that is free of a full medium

// Where an operation begins. After a crash there is no model.
struct Start {
    Medium medium;
    std::optional<Model> model;
};

void violation(const std::string &sequence, const std::string &what);

// The policies by their name, and the operations that are explored with them. False: there are none of this name.
bool chooseData(std::string name);
extern size_t own_operations; // those of the base set are explored with other policies; these begin here
extern size_t log_operations; // those on logs do

// An operation on a medium that a seeded bug has spoilt may follow a link to nowhere.
void onFault(int number);

void mustBeSound(Mounted &mounted);

Start prepared(); // a medium with the files that the operations of this policy expect
int64_t runOnBoth(Mounted &mounted, Start &start, Operation operation, uint32_t now);

// The earlier operations run in the same mount, so that their changes need not be durable.
void explore(const std::string &sequence, Start &start, const Operation &operation, size_t ordinal,
             const std::vector<Operation> &earlier = {});
