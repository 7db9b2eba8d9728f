// SPDX-License-Identifier: BSD-3-Clause
#ifndef SNAPSHOT_PASS_EPOCH_ENDS_H
#define SNAPSHOT_PASS_EPOCH_ENDS_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/TargetLibraryInfo.h"

namespace llvm {
class Instruction;
class Module;
} // namespace llvm

namespace snapshot {

class EpochEnds {
  public:
    explicit EpochEnds(const llvm::Module &module);

    // A commit may lie behind it.
    bool mayEnd(const llvm::Instruction &instruction);

  private:
    bool mayLeave(const llvm::Function &function);

    llvm::TargetLibraryInfoImpl impl;
    llvm::TargetLibraryInfo library;
    llvm::DenseMap<const llvm::Function *, bool> leaves; // of functions with a body
};

} // namespace snapshot

#endif
