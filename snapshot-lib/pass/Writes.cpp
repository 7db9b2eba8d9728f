// SPDX-License-Identifier: BSD-3-Clause
#include "Writes.h"

#include "Options.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"

using namespace llvm;

namespace snapshot {

static Target classifyCall(const CallBase &call) {
    if (call.getIntrinsicID() == Intrinsic::threadlocal_address)
        return Target::ThreadLocal;
    const Function *callee = call.getCalledFunction();
    if (callee && callee->isDeclaration() && callee->getName() == "__cxa_allocate_exception")
        return Target::Exception; // memory of the C++ run-time library
    return Target::Unknown;
}

static Target classifyObject(const Value *object) {
    if (isa<AllocaInst>(object))
        return Target::Stack;
    if (const auto *argument = dyn_cast<Argument>(object))
        return argument->hasByValAttr() ? Target::Stack : Target::Unknown;
    if (const auto *global = dyn_cast<GlobalVariable>(object))
        return global->isThreadLocal() ? Target::ThreadLocal : Target::Global;
    if (const auto *call = dyn_cast<CallBase>(object))
        return classifyCall(*call);
    return isa<ConstantPointerNull>(object) ? Target::Global : Target::Unknown;
}

// Address spaces 256 and 257 are relative to GS and FS: thread-local data, never a mapping of ours. An address that
// may be one of several objects counts as the first one's kind.
Target classify(Value *address) {
    if (address->getType()->getPointerAddressSpace() != 0)
        return Target::Segment;
    SmallVector<const Value *, 4> objects;
    getUnderlyingObjects(address, objects, nullptr, 0);
    bool known = !objects.empty() &&
                 all_of(objects, [](const Value *object) { return classifyObject(object) != Target::Unknown; });
    return known ? classifyObject(objects.front()) : Target::Unknown;
}

Value *byteCount(Instruction &instruction, uint64_t bytes) {
    return ConstantInt::get(Type::getInt64Ty(instruction.getContext()), bytes);
}

Value *sizeOf(Instruction &instruction, Type *type) {
    return byteCount(instruction, instruction.getModule()->getDataLayout().getTypeStoreSize(type).getFixedValue());
}

// setjmp writes the buffer itself and returns twice, so that no wrapper can stand for it; contexts are alike.
static uint64_t contextBytes(const Function *callee) {
    static constexpr struct {
        StringRef name;
        uint64_t bytes; // of jmp_buf and ucontext_t of glibc on x86-64
    } contexts[] = {{"setjmp", 200},     {"_setjmp", 200},     {"__sigsetjmp", 200}, {"sigsetjmp", 200},
                    {"getcontext", 968}, {"makecontext", 968}, {"swapcontext", 968}};
    for (const auto &context : contexts)
        if (callee && callee->isDeclaration() && callee->getName() == context.name)
            return context.bytes;
    return 0;
}

// A callee that has been through the pass tracks its own writes. One that has not may return a structure through a
// hidden pointer to tracked memory.
static void collectCall(CallBase &call, Writes &writes) {
    const Function *callee = call.getCalledFunction();
    if (uint64_t bytes = contextBytes(callee); bytes > 0 && call.arg_size() > 0)
        writes.push_back({&call, call.getArgOperand(0), byteCount(call, bytes)});
    bool isForeign = !callee || callee->isDeclaration();
    for (unsigned i = 0; isForeign && i < call.arg_size(); i++)
        if (Type *type = call.getParamStructRetType(i))
            writes.push_back({&call, call.getArgOperand(i), sizeOf(call, type)});
}

static bool isScalable(const Instruction &instruction) {
    return any_of(instruction.operands(), [](const Use &use) { return isa<ScalableVectorType>(use->getType()); });
}

bool collectWrites(Instruction &instruction, Writes &writes, std::string &reason) {
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
    } else if (auto *call = dyn_cast<CallBase>(&instruction)) {
        if (call->isInlineAsm())
            return collectAsmWrites(*call, writes, reason);
        if (std::optional<std::string> refusal = refusalOf(*call)) {
            reason = *refusal;
            return false;
        }
        collectCall(*call, writes);
    }
    return true; // fences and loads of volatile data
}

} // namespace snapshot
