// SPDX-License-Identifier: BSD-3-Clause
//
// The crash states of one operation, after others in the same mount. Each state is recovered, judged and used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model.hpp"
#include "operations.hpp"

// The extent of the exploration. One in `recovery_every` states is cut again in its recovery; one in `chain_every` is
// followed by another operation and a cut.
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
extern std::string context; // printed with each violation: the policies, for example
extern Totals totals;
inline const std::string Filling = "/filling"; // takes all free space of a full medium

// The state before an operation. After a crash it has no model.
struct Start {
    Medium medium;
    std::optional<Model> model;
};

void violation(const std::string &sequence, const std::string &what);

// Selects the policies of this name, and the operations to explore with them. False: unknown name.
bool chooseData(std::string name);
extern size_t own_operations; // the first operation of this policy; other policies explore the earlier ones
extern size_t log_operations; // the first operation on logs

// An operation on a medium that a seeded bug has damaged may follow an invalid pointer.
void onFault(int number);

void mustBeSound(Mounted &mounted);

Start prepared(); // a medium with the files that the operations of this policy expect
int64_t runOnBoth(Mounted &mounted, Start &start, Operation operation, uint32_t now);

// The earlier operations run in the same mount, so that their changes need not be durable.
void explore(const std::string &sequence, Start &start, const Operation &operation, size_t ordinal,
             const std::vector<Operation> &earlier = {});
