// SPDX-License-Identifier: BSD-3-Clause
//
// Inline assembly is text to the compiler: only its constraints tell its writes.
#include "Writes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
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

// The most that an instruction writes to its operand, by the AT&T name; 0: not known.
static uint64_t storeWidth(StringRef mnemonic) {
    if (mnemonic.contains("xsave") || mnemonic.starts_with("fnsave") || mnemonic.starts_with("fnstenv"))
        return UINT64_MAX;
    if (mnemonic.starts_with("v"))
        return 64;
    if (mnemonic.starts_with("cmpxchg16b") || mnemonic.contains("movdq") || mnemonic.contains("movnt") ||
        mnemonic.starts_with("movup") || mnemonic.starts_with("movap"))
        return 16;
    if (mnemonic.starts_with("set"))
        return 1;
    return StringSwitch<uint64_t>(mnemonic.take_back(1)).Case("b", 1).Case("w", 2).Case("l", 4).Case("q", 8).Default(0);
}

static bool namesOperand(StringRef line, unsigned operand) {
    std::string number = std::to_string(operand);
    for (size_t at = line.find('$'); at != StringRef::npos; at = line.find('$', at + 1)) {
        StringRef rest = line.substr(at + 1);
        rest.consume_front("{");
        if (rest.consume_front(number) && !(!rest.empty() && isDigit(rest.front())))
            return true;
    }
    return false;
}

// An array of a length known at run time looks like one element. So an operand that is no array is believed only if an
// instruction that is no wider has it for its operand, and none writes through registers besides.
static bool isStoredAsElement(StringRef text, unsigned operand, uint64_t bytes) {
    SmallVector<StringRef, 4> lines;
    SplitString(text, lines, ";\n");
    bool isNamed = false;
    for (StringRef line : lines) {
        StringRef instruction = line.trim();
        if (instruction.consume_front("lock"))
            instruction = instruction.ltrim();
        StringRef mnemonic = instruction.take_until([](char c) { return isSpace(c); });
        if (mnemonic.starts_with("rep") || mnemonic.starts_with("stos"))
            return false;
        if (!namesOperand(instruction, operand) || mnemonic.starts_with("lea"))
            continue;
        if (storeWidth(mnemonic) > bytes)
            return false;
        isNamed = true;
    }
    return isNamed;
}

// Ends in an array without a length.
static bool isFlexible(const Type *type) {
    if (const auto *array = dyn_cast<ArrayType>(type))
        return array->getNumElements() == 0 || isFlexible(array->getElementType());
    const auto *structure = dyn_cast<StructType>(type);
    return structure && structure->getNumElements() > 0 &&
           isFlexible(structure->getElementType(structure->getNumElements() - 1));
}

static bool hasKnownSize(const Type *type, uint64_t bytes, StringRef text, unsigned operand) {
    return bytes > 0 && !isFlexible(type) && (type->isArrayTy() || isStoredAsElement(text, operand, bytes));
}

bool collectAsmWrites(CallBase &call, SmallVectorImpl<Write> &writes, std::string &reason) {
    const auto *assembly = cast<InlineAsm>(call.getCalledOperand());
    reason = "inline assembly may write memory that snapshot does not see";
    if (isHarmlessAsm(call))
        return true;
    const DataLayout &layout = call.getModule()->getDataLayout();
    unsigned argument = 0, operand = 0;
    for (const InlineAsm::ConstraintInfo &constraint : assembly->ParseConstraints()) {
        if (constraint.Type == InlineAsm::isClobber && is_contained(constraint.Codes, "{memory}"))
            return false;
        bool isWritten = constraint.Type == InlineAsm::isOutput && constraint.isIndirect;
        if (isWritten) {
            Type *type = call.getParamElementType(argument);
            uint64_t bytes = layout.getTypeStoreSize(type);
            Value *address = call.getArgOperand(argument);
            if (classify(address) == Target::Unknown && !hasKnownSize(type, bytes, assembly->getAsmString(), operand)) {
                reason = "a memory output of inline assembly may be an array whose length snapshot does not see";
                return false;
            }
            writes.push_back({&call, address, ConstantInt::get(Type::getInt64Ty(call.getContext()), bytes)});
        }
        if (isWritten || constraint.Type == InlineAsm::isInput)
            argument++;
        operand++;
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
            if (auto *call = dyn_cast<CallBase>(&instruction); call && (call->isInlineAsm() || refusalOf(*call)))
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
