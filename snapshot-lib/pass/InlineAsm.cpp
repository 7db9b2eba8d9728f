// SPDX-License-Identifier: BSD-3-Clause
//
// Inline assembly is text to the compiler: what it writes is known only from its constraints.
#include "Writes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InlineAsm.h"

using namespace llvm;

namespace snapshot {

// Instructions that write no memory; a "memory" clobber on them is there to order the compiler.
static bool isHarmlessInstruction(StringRef text) {
    static constexpr StringRef harmless[] = {
        "cpuid",      "pause",       "nop",    "rdtsc",      "rdtscp", "lfence",     "mfence",
        "sfence",     "clflush",     "rdseed", "clflushopt", "clwb",   "prefetcht0", "prefetcht1",
        "prefetcht2", "prefetchnta", "rdpid",  "rdrand",     "xgetbv", "rep nop",    "hlt"};
    StringRef mnemonic = text.take_until([](char c) { return isSpace(c); });
    return text.empty() || is_contained(harmless, text) || is_contained(harmless, mnemonic);
}

static bool isHarmless(StringRef text) {
    SmallVector<StringRef, 4> lines;
    SplitString(text, lines, ";\n");
    return all_of(lines, [](StringRef line) { return isHarmlessInstruction(line.trim()); });
}

// A naked function is nothing but assembly, with operands nobody declares.
bool isHarmlessAsm(const CallBase &call) {
    return call.hasFnAttr(AsmOkAttribute) || isHarmless(cast<InlineAsm>(call.getCalledOperand())->getAsmString());
}

bool collectAsmWrites(CallBase &call, SmallVectorImpl<Write> &writes) {
    const auto *assembly = cast<InlineAsm>(call.getCalledOperand());
    if (isHarmlessAsm(call))
        return true;
    const DataLayout &layout = call.getModule()->getDataLayout();
    unsigned argument = 0;
    for (const InlineAsm::ConstraintInfo &constraint : assembly->ParseConstraints()) {
        if (constraint.Type == InlineAsm::isClobber && is_contained(constraint.Codes, "{memory}"))
            return false;
        bool isWritten = constraint.Type == InlineAsm::isOutput && constraint.isIndirect;
        if (isWritten) {
            uint64_t bytes = layout.getTypeStoreSize(call.getParamElementType(argument));
            writes.push_back(
                {&call, call.getArgOperand(argument), ConstantInt::get(Type::getInt64Ty(call.getContext()), bytes)});
        }
        if (isWritten || constraint.Type == InlineAsm::isInput)
            argument++;
    }
    return true;
}

bool hasModuleAsmInstructions(const Module &module) {
    SmallVector<StringRef, 8> lines;
    SplitString(module.getModuleInlineAsm(), lines, ";\n");
    return any_of(lines, [](StringRef line) {
        StringRef text = line.trim();
        return !(text.starts_with(".") || text.starts_with("#") || text.ends_with(":") || isHarmlessInstruction(text));
    });
}

static Function *annotatedFunction(const Value *entry) {
    const auto *fields = dyn_cast<ConstantStruct>(entry);
    if (!fields || fields->getNumOperands() < 2)
        return nullptr;
    const auto *text = dyn_cast<GlobalVariable>(fields->getOperand(1)->stripPointerCasts());
    const auto *bytes = text && text->hasInitializer() ? dyn_cast<ConstantDataArray>(text->getInitializer()) : nullptr;
    if (!bytes || !bytes->isCString() || bytes->getAsCString() != "snapshot_asm_ok")
        return nullptr;
    return dyn_cast<Function>(fields->getOperand(0)->stripPointerCasts());
}

static void markAsm(Function &function) {
    for (BasicBlock &block : function)
        for (Instruction &instruction : block)
            if (auto *call = dyn_cast<CallBase>(&instruction); call && call->isInlineAsm())
                call->addFnAttr(Attribute::get(call->getContext(), AsmOkAttribute));
}

void markAnnotatedAsm(Module &module) {
    const GlobalVariable *annotations = module.getNamedGlobal("llvm.global.annotations");
    const auto *entries = annotations ? dyn_cast<ConstantArray>(annotations->getInitializer()) : nullptr;
    if (!entries)
        return;
    for (const Use &entry : entries->operands())
        if (Function *function = annotatedFunction(entry))
            markAsm(*function);
}

} // namespace snapshot
