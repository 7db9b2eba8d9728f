// SPDX-License-Identifier: BSD-3-Clause
//
// The intrinsics that write memory. The pass refuses any other intrinsic that may write.
#include "Writes.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"

using namespace llvm;

namespace snapshot {

// All of the vector is logged, which is never too little. Its first lanes may be masked off and lie before the file, so
// the test has to see later lanes too; files begin on pages, hence one test in each line.
static void addMasked(IntrinsicInst &call, Value *address, Type *type, Writes &writes) {
    constexpr uint64_t lineBytes = 64;
    uint64_t bytes = call.getModule()->getDataLayout().getTypeStoreSize(type).getFixedValue();
    IRBuilder<> builder(&call);
    writes.push_back({&call, address, byteCount(call, bytes)});
    for (uint64_t at = lineBytes; at < bytes + lineBytes - 1; at += lineBytes)
        writes.push_back(
            {&call, builder.CreatePtrAdd(address, builder.getInt64(std::min(at, bytes - 1))), byteCount(call, 1)});
}

static Value *maskLane(IRBuilder<> &builder, Value *mask, unsigned lane) {
    if (mask->getType()->isVectorTy())
        return builder.CreateExtractElement(mask, lane);
    return builder.CreateTrunc(builder.CreateLShr(mask, lane), builder.getInt1Ty());
}

// Lanes of a scatter: one write each, under its bit of the mask.
static void addScatter(IntrinsicInst &call, Value *values, Value *pointers, Value *mask, Writes &writes) {
    IRBuilder<> builder(&call);
    Type *element = cast<VectorType>(values->getType())->getElementType();
    unsigned count = cast<FixedVectorType>(pointers->getType())->getNumElements();
    for (unsigned lane = 0; lane < count; lane++)
        writes.push_back({&call, builder.CreateExtractElement(pointers, lane), sizeOf(call, element),
                          maskLane(builder, mask, lane)});
}

// llvm.x86.avx512.(mask.)scatter*(base, mask, indices, values, scale)
static void addX86Scatter(IntrinsicInst &call, Writes &writes) {
    IRBuilder<> builder(&call);
    Value *indices = call.getArgOperand(2), *values = call.getArgOperand(3);
    unsigned count = std::min(cast<FixedVectorType>(indices->getType())->getNumElements(),
                              cast<FixedVectorType>(values->getType())->getNumElements());
    Type *element = cast<VectorType>(values->getType())->getElementType();
    Value *scale = builder.CreateZExt(call.getArgOperand(4), builder.getInt64Ty());
    for (unsigned lane = 0; lane < count; lane++) {
        Value *index = builder.CreateSExt(builder.CreateExtractElement(indices, lane), builder.getInt64Ty());
        writes.push_back({&call, builder.CreatePtrAdd(call.getArgOperand(0), builder.CreateMul(index, scale)),
                          sizeOf(call, element), maskLane(builder, call.getArgOperand(1), lane)});
    }
}

// Of the x86 intrinsics that store: which argument is the address, and the size or the argument that has it.
struct X86Store {
    StringRef prefix;
    unsigned address;
    int value; // -1: `bytes`
    uint64_t bytes;
    bool masked;
};

static constexpr X86Store X86Stores[] = {
    {"avx.maskstore.", 0, 2, 0, true},
    {"avx2.maskstore.", 0, 2, 0, true},
    {"sse2.maskmov.dqu", 2, 0, 0, true},
    {"avx512.mask.pmov", 0, 1, 0, true},
    {"mmx.maskmovq", 2, -1, 8, true},
    {"mmx.movnt.dq", 0, -1, 8, false},
    {"directstore", 0, 1, 0, false},
    {"movdir64b", 0, -1, 64, false},
    {"fxsave", 0, -1, 512, false},
    {"sse.stmxcsr", 0, -1, 4, false},
    {"sttilecfg", 0, -1, 64, false},
    {"aadd", 0, 1, 0, false},
    {"aand", 0, 1, 0, false},
    {"aor", 0, 1, 0, false},
    {"axor", 0, 1, 0, false},
    {"cmpccxadd", 0, 1, 0, false},
};

// Fences, cache and tile control, clocks, transactions: registers and caches, no memory.
static constexpr StringRef X86Harmless[] = {
    "avx.vzero",   "sse2.mfence",  "sse2.lfence", "sse.sfence", "sse2.pause", "sse2.clflush", "clflushopt",
    "clwb",        "cldemote",     "serialize",   "rdtsc",      "rdpid",      "rdpmc",        "rdrand",
    "rdseed",      "sse.ldmxcsr",  "mmx.emms",    "xgetbv",     "xbegin",     "xend",         "xabort",
    "xtest",       "sse3.monitor", "sse3.mwait",  "monitorx",   "mwaitx",     "umonitor",     "umwait",
    "tpause",      "rdfsbase",     "rdgsbase",    "ptwrite",    "ldtilecfg",  "tileload",     "tilezero",
    "tilerelease", "tdp",          "fxrstor",     "xrstor",     "flags.read", "flags.write",
};

static bool collectX86(IntrinsicInst &call, Writes &writes) {
    StringRef name = call.getCalledFunction()->getName();
    if (!name.consume_front("llvm.x86."))
        return false;
    if (name.starts_with("avx512.scatter") || name.starts_with("avx512.mask.scatter")) {
        addX86Scatter(call, writes);
        return true;
    }
    for (const X86Store &store : X86Stores) {
        if (!name.starts_with(store.prefix))
            continue;
        Value *address = call.getArgOperand(store.address);
        if (store.masked && store.value >= 0)
            addMasked(call, address, call.getArgOperand(store.value)->getType(), writes);
        else if (store.value >= 0)
            writes.push_back({&call, address, sizeOf(call, call.getArgOperand(store.value)->getType())});
        else
            writes.push_back({&call, address, byteCount(call, store.bytes)});
        return true;
    }
    return any_of(X86Harmless, [&](StringRef prefix) { return name.starts_with(prefix); });
}

static bool writesNothingOfOurs(const IntrinsicInst &call) {
    switch (call.getIntrinsicID()) {
    case Intrinsic::lifetime_start:
    case Intrinsic::lifetime_end:
    case Intrinsic::invariant_start:
    case Intrinsic::invariant_end:
    case Intrinsic::prefetch:
    case Intrinsic::clear_cache:
    case Intrinsic::stacksave:
    case Intrinsic::stackrestore:
    case Intrinsic::vaend:
    case Intrinsic::trap:
    case Intrinsic::debugtrap:
    case Intrinsic::ubsantrap:
    case Intrinsic::eh_typeid_for:
    case Intrinsic::eh_dwarf_cfa:
    case Intrinsic::eh_return_i64:
    case Intrinsic::eh_unwind_init:
    case Intrinsic::eh_sjlj_longjmp: // of registers
    case Intrinsic::callbr_landingpad:
    case Intrinsic::read_volatile_register:
    case Intrinsic::write_register:
    case Intrinsic::readcyclecounter:
    case Intrinsic::readsteadycounter:
    case Intrinsic::get_dynamic_area_offset:
        return true;
    default:
        return !call.mayWriteToMemory() || call.onlyAccessesInaccessibleMemory() || call.isAssumeLikeIntrinsic();
    }
}

bool collectIntrinsic(IntrinsicInst &call, Writes &writes) {
    if (auto *memory = dyn_cast<AnyMemIntrinsic>(&call)) {
        writes.push_back({&call, memory->getRawDest(), memory->getLength()});
        return true;
    }
    if (writesNothingOfOurs(call))
        return true;
    constexpr uint64_t vaListBytes = 24, jumpBufferBytes = 40; // of __builtin_setjmp: five words
    switch (call.getIntrinsicID()) {
    case Intrinsic::masked_store:
    case Intrinsic::masked_compressstore:
    case Intrinsic::vp_store:
        addMasked(call, call.getArgOperand(1), call.getArgOperand(0)->getType(), writes);
        return true;
    case Intrinsic::masked_scatter:
        addScatter(call, call.getArgOperand(0), call.getArgOperand(1), call.getArgOperand(3), writes);
        return true;
    case Intrinsic::vp_scatter: // lanes beyond the vector length are logged too, if their mask bit is set
        addScatter(call, call.getArgOperand(0), call.getArgOperand(1), call.getArgOperand(2), writes);
        return true;
    case Intrinsic::vastart:
    case Intrinsic::vacopy:
        writes.push_back({&call, call.getArgOperand(0), byteCount(call, vaListBytes)});
        return true;
    case Intrinsic::eh_sjlj_setjmp:
        writes.push_back({&call, call.getArgOperand(0), byteCount(call, jumpBufferBytes)});
        return true;
    default:
        return collectX86(call, writes);
    }
}

} // namespace snapshot
