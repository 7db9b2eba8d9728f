// SPDX-License-Identifier: BSD-3-Clause
//
// Behind which instructions a commit may lie.
#include "EpochEnds.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace snapshot {

static bool isAcquire(const Instruction &instruction) {
    if (const auto *load = dyn_cast<LoadInst>(&instruction))
        return load->isVolatile() || isAcquireOrStronger(load->getOrdering());
    if (const auto *rmw = dyn_cast<AtomicRMWInst>(&instruction))
        return rmw->isVolatile() || isAcquireOrStronger(rmw->getOrdering());
    if (const auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
        return exchange->isVolatile() || isAcquireOrStronger(exchange->getMergedOrdering());
    if (const auto *fence = dyn_cast<FenceInst>(&instruction))
        return isAcquireOrStronger(fence->getOrdering());
    return false;
}

// A name that C and C++ reserve for their libraries, such as __errno_location and std::_Rb_tree_increment.
static bool isReserved(StringRef name) {
    return name.starts_with("__") || name.starts_with("_ZSt") || name.starts_with("_ZNSt") ||
           name.starts_with("_ZNKSt");
}

// A callee may have been instrumented already.
static bool isAnnouncement(const Function &function) {
    return function.getName() == "__snapshot_log" || function.getName() == "__snapshot_noop";
}

EpochEnds::EpochEnds(const Module &module) : impl(Triple(module.getTargetTriple())), library(impl) {}

// A recursive call adds nothing, so a function that is being looked at counts as one that does not leave.
bool EpochEnds::mayLeave(const Function &function) {
    if (function.isDeclarationForLinker()) {
        LibFunc known;
        return !isReserved(function.getName()) && !library.getLibFunc(function, known);
    }
    if (function.isInterposable())
        return true;
    auto [found, isNew] = leaves.try_emplace(&function, false);
    if (!isNew)
        return found->second;
    bool result = any_of(instructions(function), [&](const Instruction &inner) { return mayEnd(inner); });
    return leaves[&function] = result;
}

// A function that writes memory only through its arguments cannot commit, nor can an intrinsic that calls nothing back.
// But a program may declare a function pure or const although it takes a lock, to look something up or to make it once.
// So the attributes count only if the body of the function takes no lock, or if the function belongs to a library.
bool EpochEnds::mayEnd(const Instruction &instruction) {
    const auto *call = dyn_cast<CallBase>(&instruction);
    if (!call)
        return isAcquire(instruction);
    if (isa<IntrinsicInst>(call))
        return !(call->hasFnAttr(Attribute::NoCallback) || isa<AnyMemIntrinsic>(call));
    const Function *function = call->getCalledFunction();
    if (call->isInlineAsm() || !function)
        return true;
    bool writesLittle = call->onlyReadsMemory() || call->onlyAccessesArgMemory();
    return !isAnnouncement(*function) && (!writesLittle || mayLeave(*function));
}

} // namespace snapshot
