// SPDX-License-Identifier: BSD-3-Clause
//
// -fsnapshot-report: the treatment of every write.
#ifndef SNAPSHOT_PASS_REPORT_H
#define SNAPSHOT_PASS_REPORT_H

#include "Writes.h"

namespace snapshot {

// Every write is counted once, but for libc uses, which are no writes of the function's own.
struct Counts {
    unsigned instrumented = 0; // has a guard in front of it
    unsigned hoisted = 0;      // has a guard in front of a loop
    unsigned coalesced = 0;    // shares the guard of another write of its block
    unsigned repeated = 0;     // the same bytes were guarded on every path to it
    unsigned stack = 0, global = 0, thread_local_ = 0, exception = 0, segment = 0; // cannot be in a tracked file
    unsigned libcUses = 0, refused = 0;

    void add(const Counts &other);
    void countElided(Target target);
    bool empty() const;
};

// One line: "snapshot: FILE: NAME: 3 instrumented, ...".
void printCounts(const llvm::Module &module, llvm::StringRef name, const Counts &counts);

} // namespace snapshot

#endif
