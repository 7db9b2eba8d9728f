// SPDX-License-Identifier: BSD-3-Clause
//
// Functions of libc that write to the program's memory in a way nobody can follow, as untracked.def lists them.
#include "Writes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Operator.h"

#include <optional>

using namespace llvm;

namespace snapshot {

namespace {

struct Refusal {
    StringRef reason;
    StringRef arguments; // their numbers; empty: whatever they are

    bool concerns(unsigned argument) const {
        StringRef numbers = arguments;
        bool andBehind = numbers.consume_back("+");
        return any_of(numbers, [&](char c) {
            unsigned number = static_cast<unsigned>(c - '0');
            return number == argument || (andBehind && number < argument);
        });
    }
};

StringMap<Refusal> makeRefusals() {
    StringMap<Refusal> result;
    auto add = [&](StringRef reason, StringRef functions) {
        SmallVector<StringRef, 32> words;
        SplitString(functions, words);
        for (StringRef word : words)
            result[word.split(':').first] = {reason, word.split(':').second};
    };
#define SNAPSHOT_REFUSED(reason, functions) add(reason, functions);
#include "snapshot/untracked.def"
    return result;
}

// System calls that write no memory of the program's but locks, with which the C++ library waits.
bool isHarmlessSystemCall(const CallBase &call) {
    static constexpr uint64_t harmless[] = {1, 18, 20, 24, 39, 74, 75, 186, 202, 234, 296}; // x86-64: write, pwrite64,
    // writev, sched_yield, getpid, fsync, fdatasync, gettid, futex, tgkill, pwritev
    const auto *number = dyn_cast<ConstantInt>(call.getArgOperand(0));
    return number && is_contained(harmless, number->getZExtValue());
}

} // namespace

std::optional<std::string> refusalOf(CallBase &call) {
    static const StringMap<Refusal> refusals = makeRefusals();
    const Function *callee = call.getCalledFunction();
    if (!callee || !callee->isDeclaration() || call.hasFnAttr(AsmOkAttribute))
        return std::nullopt;
    auto found = refusals.find(callee->getName());
    if (found == refusals.end() || (callee->getName() == "syscall" && isHarmlessSystemCall(call)))
        return std::nullopt;
    const Refusal &refusal = found->second;
    auto mayBeTracked = [&](unsigned i) {
        Value *argument = call.getArgOperand(i);
        if (auto *number = dyn_cast<PtrToIntOperator>(argument))
            argument = number->getPointerOperand();
        return argument->getType()->isPointerTy() && classify(argument) == Target::Unknown;
    };
    for (unsigned i = 0; i < call.arg_size(); i++)
        if (refusal.arguments.empty() || (refusal.concerns(i) && mayBeTracked(i)))
            return (callee->getName() + "() " + refusal.reason).str();
    return std::nullopt;
}

} // namespace snapshot
