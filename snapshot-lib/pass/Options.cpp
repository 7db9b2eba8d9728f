// SPDX-License-Identifier: BSD-3-Clause
#include "Options.h"

using namespace llvm;

namespace snapshot {

cl::opt<bool> ReportOption("snapshot-report", cl::desc("Print what became of the writes of each function"));
cl::opt<bool> NoElide("snapshot-no-elide", cl::desc("Guard writes to the stack and to global variables too"));
cl::opt<bool> NoCoalesce("snapshot-no-coalesce", cl::desc("One guard for each write of a basic block"));
cl::opt<bool> NoHoist("snapshot-no-hoist", cl::desc("Keep guards in loops"));
cl::opt<bool> NoElideRepeated("snapshot-no-elide-repeated", cl::desc("Guard again what a guard before has logged"));
cl::opt<GuardKind> GuardOption(
    "snapshot-guard", cl::desc("What a guard does; only with full are commits atomic:"), cl::init(GuardKind::Full),
    cl::values(clEnumValN(GuardKind::Full, "full", "Log the write if it is to a tracked file"),
               clEnumValN(GuardKind::Check, "check", "Test whether it is to a tracked file, and log nothing"),
               clEnumValN(GuardKind::Noop, "noop", "Call an empty function, whatever the write is to")));

} // namespace snapshot
