// SPDX-License-Identifier: BSD-3-Clause
//
// The switches, each with `-mllvm -NAME`.
#ifndef SNAPSHOT_PASS_OPTIONS_H
#define SNAPSHOT_PASS_OPTIONS_H

#include "llvm/Support/CommandLine.h"

namespace snapshot {

extern llvm::cl::opt<bool> ReportOption;    // -snapshot-report
extern llvm::cl::opt<bool> NoElide;         // -snapshot-no-elide: guard the stack and global variables too
extern llvm::cl::opt<bool> NoCoalesce;      // -snapshot-no-coalesce
extern llvm::cl::opt<bool> NoHoist;         // -snapshot-no-hoist
extern llvm::cl::opt<bool> NoElideRepeated; // -snapshot-no-elide-repeated

// The work of a guard, -snapshot-guard=KIND. All kinds but Full only measure the cost of instrumentation.
enum class GuardKind {
    Full,  // log the bytes of a tracked file before their change
    Check, // test whether it is in one, and log nothing
    Noop,  // call an empty function instead
};
extern llvm::cl::opt<GuardKind> GuardOption;

} // namespace snapshot

#endif
