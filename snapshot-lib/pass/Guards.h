// SPDX-License-Identifier: BSD-3-Clause
//
// Guards: the memory to announce before each instruction, and how to get by with fewer.
//
// A guard must be executed before the store, in the same epoch of its thread: after the thread's own commit the line
// has to be logged again, and after a call that waits for other threads it may have to be. So a guard may move up over
// anything but a call, or an acquire. Another thread's msync() may come between a guard and its store: the runtime
// keeps a thread's announcements until that thread makes such a call.
#ifndef SNAPSHOT_PASS_GUARDS_H
#define SNAPSHOT_PASS_GUARDS_H

#include "EpochEnds.h"
#include "Writes.h"

#include <list>

namespace llvm {
class LoopInfo;
class DominatorTree;
class ScalarEvolution;
class TargetTransformInfo;
} // namespace llvm

namespace snapshot {

// With a smaller gap between two ranges no line lies wholly within it: announcing it too logs no line more.
inline constexpr int64_t GapMax = 63;

struct Piece {
    int64_t begin, end; // bytes from the guard's base
};

// Announces pieces at constant distances from the base, or one range of a size known at run time only.
struct Guard {
    llvm::Instruction *before;
    llvm::Value *base;
    llvm::SmallVector<Piece, 2> pieces; // ascending, apart from each other
    llvm::Value *bytes = nullptr;       // not null: the range [base, base + bytes)
    llvm::Value *mask = nullptr;        // with bytes: i1, only if set
    bool isHoisted = false;

    bool isConstant() const { return bytes == nullptr; }
};
using Guards = std::list<Guard>;

Guard guardOf(const Write &write);

// Moves guards to the front of loops.
void hoistFromLoops(Guards &guards, llvm::Function &function, llvm::LoopInfo &loops, llvm::DominatorTree &tree,
                    llvm::ScalarEvolution &evolution, llvm::TargetTransformInfo &target, EpochEnds &ends);

// Both take guards away and return how many.
unsigned coalesceInBlocks(Guards &guards, llvm::Function &function, EpochEnds &ends);
unsigned dropRepeated(Guards &guards, llvm::Function &function, EpochEnds &ends);

} // namespace snapshot

#endif
