// SPDX-License-Identifier: BSD-3-Clause
#include "Writes.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace snapshot {

static Target classifyObject(const Value *object) {
    if (isa<AllocaInst>(object))
        return Target::Stack;
    if (const auto *argument = dyn_cast<Argument>(object))
        return argument->hasByValAttr() ? Target::Stack : Target::Unknown;
    return isa<GlobalVariable>(object) || isa<ConstantPointerNull>(object) ? Target::Global : Target::Unknown;
}

// Address spaces 256 and 257 are relative to GS and FS: thread-local data, never a mapping of ours.
Target classify(Value *address) {
    if (address->getType()->getPointerAddressSpace() != 0)
        return Target::Segment;
    SmallVector<const Value *, 4> objects;
    getUnderlyingObjects(address, objects, nullptr, 0);
    Target all = objects.empty() ? Target::Unknown : classifyObject(objects.front());
    for (const Value *object : objects)
        if (Target one = classifyObject(object); one == Target::Unknown || all == Target::Unknown)
            return Target::Unknown;
        else if (one != all)
            all = Target::Stack;
    return all;
}

static Value *sizeOf(Instruction &instruction, Type *type) {
    TypeSize size = instruction.getModule()->getDataLayout().getTypeStoreSize(type);
    return ConstantInt::get(Type::getInt64Ty(instruction.getContext()), size.getFixedValue());
}

// Lanes of a scatter: one write each, under its bit of the mask.
static void addScatter(IntrinsicInst &call, SmallVectorImpl<Write> &writes) {
    IRBuilder<> builder(&call);
    Value *pointers = call.getArgOperand(1), *mask = call.getArgOperand(3);
    Type *element = cast<VectorType>(call.getArgOperand(0)->getType())->getElementType();
    unsigned count = cast<FixedVectorType>(pointers->getType())->getNumElements();
    for (unsigned lane = 0; lane < count; lane++)
        writes.push_back({&call, builder.CreateExtractElement(pointers, lane), sizeOf(call, element),
                          builder.CreateExtractElement(mask, lane)});
}

// The x86 intrinsics that store under a mask: the whole vector is logged, which is never too little.
static bool addX86(IntrinsicInst &call, SmallVectorImpl<Write> &writes) {
    StringRef name = call.getCalledFunction()->getName();
    if (name.starts_with("llvm.x86.avx.maskstore") || name.starts_with("llvm.x86.avx2.maskstore")) {
        writes.push_back({&call, call.getArgOperand(0), sizeOf(call, call.getArgOperand(2)->getType())});
        return true;
    }
    if (name == "llvm.x86.sse2.maskmov.dqu") {
        writes.push_back({&call, call.getArgOperand(2), sizeOf(call, call.getArgOperand(0)->getType())});
        return true;
    }
    static constexpr StringRef harmless[] = {"llvm.x86.sse2.mfence", "llvm.x86.sse2.lfence",  "llvm.x86.sse.sfence",
                                             "llvm.x86.sse2.pause",  "llvm.x86.sse2.clflush", "llvm.x86.clflushopt",
                                             "llvm.x86.clwb",        "llvm.x86.rdtsc",        "llvm.x86.sse.ldmxcsr",
                                             "llvm.x86.rdtscp",      "llvm.x86.rdpid"};
    return is_contained(harmless, name);
}

static bool writesNothingOfOurs(const IntrinsicInst &call) {
    switch (call.getIntrinsicID()) {
    case Intrinsic::lifetime_start:
    case Intrinsic::lifetime_end:
    case Intrinsic::invariant_start:
    case Intrinsic::invariant_end:
    case Intrinsic::prefetch:
    case Intrinsic::stacksave:
    case Intrinsic::stackrestore:
    case Intrinsic::trap:
    case Intrinsic::debugtrap:
    case Intrinsic::ubsantrap:
    case Intrinsic::eh_typeid_for:
        return true;
    default:
        return !call.mayWriteToMemory() || call.onlyAccessesInaccessibleMemory() || call.isAssumeLikeIntrinsic();
    }
}

static bool collectIntrinsic(IntrinsicInst &call, SmallVectorImpl<Write> &writes) {
    if (auto *memory = dyn_cast<AnyMemIntrinsic>(&call)) {
        writes.push_back({&call, memory->getRawDest(), memory->getLength()});
        return true;
    }
    if (writesNothingOfOurs(call))
        return true;
    constexpr uint64_t vaListBytes = 24;
    switch (call.getIntrinsicID()) {
    case Intrinsic::masked_store:
    case Intrinsic::masked_compressstore:
        writes.push_back({&call, call.getArgOperand(1), sizeOf(call, call.getArgOperand(0)->getType())});
        return true;
    case Intrinsic::masked_scatter:
        addScatter(call, writes);
        return true;
    case Intrinsic::vastart:
    case Intrinsic::vacopy:
    case Intrinsic::vaend:
        writes.push_back(
            {&call, call.getArgOperand(0), ConstantInt::get(Type::getInt64Ty(call.getContext()), vaListBytes)});
        return true;
    default:
        return addX86(call, writes);
    }
}

static bool isScalable(const Instruction &instruction) {
    return any_of(instruction.operands(), [](const Use &use) { return isa<ScalableVectorType>(use->getType()); });
}

bool collectWrites(Instruction &instruction, SmallVectorImpl<Write> &writes, std::string &reason) {
    if (!instruction.mayWriteToMemory())
        return true;
    if (isScalable(instruction)) {
        reason = "a store of a scalable vector cannot be tracked";
        return false;
    }
    if (auto *store = dyn_cast<StoreInst>(&instruction))
        writes.push_back({store, store->getPointerOperand(), sizeOf(*store, store->getValueOperand()->getType())});
    else if (auto *rmw = dyn_cast<AtomicRMWInst>(&instruction))
        writes.push_back({rmw, rmw->getPointerOperand(), sizeOf(*rmw, rmw->getValOperand()->getType())});
    else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
        writes.push_back(
            {exchange, exchange->getPointerOperand(), sizeOf(*exchange, exchange->getNewValOperand()->getType())});
    else if (auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction)) {
        reason =
            ("intrinsic " + intrinsic->getCalledFunction()->getName() + " may write memory and is not known").str();
        return collectIntrinsic(*intrinsic, writes);
    } else if (auto *call = dyn_cast<CallBase>(&instruction); call && call->isInlineAsm()) {
        reason = "inline assembly may write memory that snapshot does not see";
        return collectAsmWrites(*call, writes);
    }
    return true; // fences, loads of volatile data, and calls: the callee is instrumented itself
}

} // namespace snapshot
