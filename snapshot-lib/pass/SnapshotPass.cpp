// SPDX-License-Identifier: BSD-3-Clause
//
// The compiler pass. It runs after all optimisation, so that only stores that remain are instrumented, and puts before
// each a test whether the address lies in a tracked file:
//
//     if (address - __snapshot_base < __snapshot_size)  // unsigned; in line
//         __snapshot_log(address, bytes);               // out of line, in a cold block
//
// It knows the runtime only by the names in abi.def.
#include "Writes.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

#include <cstdlib>

using namespace llvm;

namespace {

using snapshot::Target;
using snapshot::Write;

cl::opt<bool> ReportOption("snapshot-report", cl::desc("Print how many writes were instrumented and left alone"));

struct Statistics {
    unsigned instrumented = 0, stack = 0, global = 0, segment = 0, libcCalls = 0, refused = 0;

    void print(const Module &module) const {
        errs() << "snapshot: " << module.getSourceFileName() << ": " << instrumented << " instrumented, " << stack
               << " stack, " << global << " global, " << segment << " segment, " << libcCalls << " libc uses, "
               << refused << " refused\n";
    }
};

class Instrumenter {
  public:
    explicit Instrumenter(Module &module) : module(module), context(module.getContext()) {
        Type *word = Type::getInt64Ty(context);
        base = declareGlobal("__snapshot_base", word);
        size = declareGlobal("__snapshot_size", word);
        logFunction = module.getOrInsertFunction("__snapshot_log", Type::getVoidTy(context),
                                                 PointerType::getUnqual(context), word);
        auto *function = cast<Function>(logFunction.getCallee());
        function->setCallingConv(CallingConv::PreserveMost);
        function->setDoesNotThrow();
        function->addFnAttr(Attribute::Cold);
    }

    void run() {
        for (Function &function : module)
            if (!function.isDeclaration() && !function.hasFnAttribute(Attribute::Naked))
                instrument(function);
        redirectLibc();
    }

    Statistics statistics;

  private:
    // Static linking of libsnapshot makes the variables local; only code for a shared library asks the loader.
    GlobalVariable *declareGlobal(StringRef name, Type *type) {
        auto *global = cast<GlobalVariable>(module.getOrInsertGlobal(name, type));
        bool isSharedLibrary = module.getPICLevel() != PICLevel::NotPIC && module.getPIELevel() == PIELevel::Default;
        global->setDSOLocal(!isSharedLibrary);
        return global;
    }

    void instrument(Function &function) {
        SmallVector<Instruction *, 64> candidates;
        for (BasicBlock &block : function)
            for (Instruction &instruction : block)
                candidates.push_back(&instruction);
        for (Instruction *instruction : candidates) {
            SmallVector<Write, 4> writes;
            std::string reason;
            if (!snapshot::collectWrites(*instruction, writes, reason))
                refuse(*instruction, reason);
            for (const Write &write : writes)
                visit(write);
        }
    }

    void visit(const Write &write) {
        switch (snapshot::classify(write.address)) {
        case Target::Stack:
            statistics.stack++;
            return;
        case Target::Global:
            statistics.global++;
            return;
        case Target::Segment:
            statistics.segment++;
            return;
        case Target::Unknown:
            statistics.instrumented++;
            guard(write);
        }
    }

    void guard(const Write &write) {
        IRBuilder<> builder(write.instruction);
        Type *word = builder.getInt64Ty();
        Value *offset = builder.CreateSub(builder.CreatePtrToInt(write.address, word), builder.CreateLoad(word, base));
        Value *inRange = builder.CreateICmpULT(offset, builder.CreateLoad(word, size));
        if (write.mask)
            inRange = builder.CreateAnd(inRange, write.mask);
        MDNode *unlikely = MDBuilder(context).createUnlikelyBranchWeights();
        Instruction *cold = SplitBlockAndInsertIfThen(inRange, write.instruction, false, unlikely);
        IRBuilder<> slow(cold);
        slow.SetCurrentDebugLocation(write.instruction->getDebugLoc());
        CallInst *call = slow.CreateCall(logFunction, {write.address, slow.CreateZExtOrTrunc(write.bytes, word)});
        call->setCallingConv(CallingConv::PreserveMost);
        call->setDoesNotThrow();
    }

    void refuse(Instruction &instruction, const std::string &reason) {
        statistics.refused++;
        context.emitError(&instruction, reason + " (in function " + instruction.getFunction()->getName() + " of " +
                                            module.getSourceFileName() +
                                            "); annotate the function with "
                                            "__attribute__((annotate(\"snapshot_asm_ok\"))) if it writes no tracked "
                                            "memory, or announces it with snapshot_log_range()");
    }

    void redirectLibc() {
#define SNAPSHOT_ABI_LIBC(name) redirect(#name);
#include "snapshot/abi.def"
    }

    // Uses of the declaration include its address, so calls through pointers are covered.
    void redirect(StringRef name) {
        Function *function = module.getFunction(name);
        if (!function || !function->isDeclaration() || function->use_empty())
            return;
        FunctionCallee wrapper =
            module.getOrInsertFunction(("__snapshot_libc_" + name).str(), function->getFunctionType());
        statistics.libcCalls += function->getNumUses();
        function->replaceAllUsesWith(wrapper.getCallee());
    }

    Module &module;
    LLVMContext &context;
    GlobalVariable *base, *size;
    FunctionCallee logFunction;
};

struct SnapshotPass : PassInfoMixin<SnapshotPass> {
    PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
        constexpr StringRef done = "snapshot-instrumented"; // link-time optimisation runs the pipeline twice
        if (module.getModuleFlag(done))
            return PreservedAnalyses::all();
        Instrumenter instrumenter(module);
        instrumenter.run();
        module.addModuleFlag(Module::Max, done, 1);
        if (ReportOption || std::getenv("SNAPSHOT_REPORT"))
            instrumenter.statistics.print(module);
        return PreservedAnalyses::none();
    }
    static bool isRequired() { return true; }
};

struct SnapshotMarkPass : PassInfoMixin<SnapshotMarkPass> {
    PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
        snapshot::markAnnotatedAsm(module);
        return PreservedAnalyses::all();
    }
    static bool isRequired() { return true; }
};

bool parsePassName(StringRef name, ModulePassManager &manager, ArrayRef<PassBuilder::PipelineElement>) {
    if (name == "snapshot")
        manager.addPass(SnapshotPass());
    else if (name == "snapshot-mark")
        manager.addPass(SnapshotMarkPass());
    else
        return false;
    return true;
}

void registerPasses(PassBuilder &builder) {
    builder.registerPipelineParsingCallback(parsePassName);
    builder.registerPipelineStartEPCallback(
        [](ModulePassManager &manager, OptimizationLevel) { manager.addPass(SnapshotMarkPass()); });
    builder.registerOptimizerLastEPCallback(
        [](ModulePassManager &manager, OptimizationLevel) { manager.addPass(SnapshotPass()); });
}

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "Snapshot", "1", registerPasses};
}
