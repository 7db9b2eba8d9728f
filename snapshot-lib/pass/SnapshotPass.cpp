// SPDX-License-Identifier: BSD-3-Clause
//
// The compiler pass. It runs after all optimisation, so that only stores that remain are instrumented, and puts before
// each a test whether the address lies in a tracked file:
//
//     if (address - __snapshot_base < __snapshot_size)  // unsigned; in line
//         __snapshot_log(address, bytes);               // out of line, in a cold block
//
// It knows the runtime only by the names in abi.def.
#include "Guards.h"
#include "Options.h"
#include "Report.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

#include <cstdlib>
#include <map>

using namespace llvm;

namespace {

using namespace snapshot;

class Instrumenter {
  public:
    Instrumenter(Module &module, FunctionAnalysisManager &analyses)
        : module(module), context(module.getContext()), analyses(analyses), ends(module) {
        Type *word = Type::getInt64Ty(context);
        base = declareGlobal("__snapshot_base", word);
        size = declareGlobal("__snapshot_size", word);
        StringRef name = GuardOption == GuardKind::Full ? "__snapshot_log" : "__snapshot_noop";
        logFunction = module.getOrInsertFunction(name, Type::getVoidTy(context), PointerType::getUnqual(context), word);
        auto *function = cast<Function>(logFunction.getCallee());
        function->setCallingConv(CallingConv::PreserveMost);
        function->setDoesNotThrow();
        if (GuardOption != GuardKind::Noop)
            function->addFnAttr(Attribute::Cold);
    }

    void run() {
        if (hasModuleAsmInstructions(module))
            context.emitError(module.getSourceFileName() +
                              ": top-level assembly with instructions may write memory that snapshot does not see; "
                              "put it into a file of its own and compile that without the pass");
        for (Function &function : module)
            if (!function.isDeclarationForLinker())
                instrument(function);
        redirectLibc();
    }

    void report() {
        Counts total;
        for (const Function &function : module) {
            const Counts &counts = countsOf[&function];
            total.add(counts);
            if (!counts.empty())
                printCounts(module, function.getName(), counts);
        }
        total.add(outsideFunctions);
        printCounts(module, "total", total);
    }

  private:
    // Static linking of libsnapshot makes the variables local; only code for a shared library asks the loader.
    GlobalVariable *declareGlobal(StringRef name, Type *type) {
        auto *global = cast<GlobalVariable>(module.getOrInsertGlobal(name, type));
        bool isSharedLibrary = module.getPICLevel() != PICLevel::NotPIC && module.getPIELevel() == PIELevel::Default;
        global->setDSOLocal(!isSharedLibrary);
        return global;
    }

    void instrument(Function &function) {
        Counts &counts = countsOf[&function];
        if (function.hasFnAttribute(Attribute::Naked)) {
            checkNaked(function, counts);
            return;
        }
        Guards guards = collect(function, counts);
        if (!NoHoist)
            hoistFromLoops(guards, function, analyses.getResult<LoopAnalysis>(function),
                           analyses.getResult<DominatorTreeAnalysis>(function),
                           analyses.getResult<ScalarEvolutionAnalysis>(function),
                           analyses.getResult<TargetIRAnalysis>(function), ends);
        if (!NoCoalesce)
            counts.coalesced = coalesceInBlocks(guards, function, ends);
        if (!NoElideRepeated)
            counts.repeated = dropRepeated(guards, function, ends);
        for (const Guard &guard : guards) {
            (guard.isHoisted ? counts.hoisted : counts.instrumented)++;
            emit(guard);
        }
    }

    void checkNaked(Function &function, Counts &counts) {
        for (BasicBlock &block : function)
            for (Instruction &instruction : block)
                if (auto *call = dyn_cast<CallBase>(&instruction); call && call->isInlineAsm() && !isHarmlessAsm(*call))
                    refuse(instruction, "the assembly of a naked function may write memory", counts);
    }

    Guards collect(Function &function, Counts &counts) {
        Guards guards;
        SmallVector<Instruction *, 64> candidates;
        for (BasicBlock &block : function)
            for (Instruction &instruction : block)
                candidates.push_back(&instruction);
        for (Instruction *instruction : candidates) {
            SmallVector<Write, 4> writes;
            std::string reason;
            if (!collectWrites(*instruction, writes, reason))
                refuse(*instruction, reason, counts);
            for (const Write &write : writes)
                if (Target target = classify(write.address);
                    target == Target::Unknown || (NoElide && target != Target::Segment))
                    guards.push_back(guardOf(write));
                else
                    counts.countElided(target);
        }
        return guards;
    }

    void emit(const Guard &guard) {
        IRBuilder<> builder(guard.before);
        Type *word = builder.getInt64Ty();
        Value *first = guard.isConstant() ? addressOf(builder, guard.base, guard.pieces[0].begin) : guard.base;
        if (GuardOption == GuardKind::Noop) {
            announce(builder, guard, first);
            return;
        }
        Value *offset = builder.CreateSub(builder.CreatePtrToInt(first, word), builder.CreateLoad(word, base));
        Value *inRange = builder.CreateICmpULT(offset, builder.CreateLoad(word, size));
        if (guard.mask)
            inRange = builder.CreateAnd(inRange, guard.mask);
        MDNode *unlikely = MDBuilder(context).createUnlikelyBranchWeights();
        IRBuilder<> slow(SplitBlockAndInsertIfThen(inRange, guard.before, false, unlikely));
        slow.SetCurrentDebugLocation(guard.before->getDebugLoc());
        announce(slow, guard, first);
    }

    // `first` is where the guard's first piece begins.
    void announce(IRBuilder<> &builder, const Guard &guard, Value *first) {
        if (!guard.isConstant()) {
            callLog(builder, first, builder.CreateZExtOrTrunc(guard.bytes, builder.getInt64Ty()));
            return;
        }
        for (Piece piece : guard.pieces) {
            int64_t bytes = piece.end - piece.begin;
            callLog(builder, piece.begin == guard.pieces[0].begin ? first : addressOf(builder, guard.base, piece.begin),
                    builder.getInt64(static_cast<uint64_t>(bytes)));
        }
    }

    static Value *addressOf(IRBuilder<> &builder, Value *base, int64_t offset) {
        return offset ? builder.CreatePtrAdd(base, builder.getInt64(static_cast<uint64_t>(offset))) : base;
    }

    void callLog(IRBuilder<> &builder, Value *address, Value *bytes) {
        CallInst *call = builder.CreateCall(logFunction, {address, bytes});
        call->setCallingConv(CallingConv::PreserveMost);
        call->setDoesNotThrow();
    }

    // Assembly carries its line with it, other instructions only with debug information.
    void refuse(Instruction &instruction, const std::string &reason, Counts &counts) {
        counts.refused++;
        const Function &function = *instruction.getFunction();
        std::string text =
            reason + " (in function " + function.getName().str() + " of " + module.getSourceFileName() +
            "); annotate the function with __attribute__((annotate(\"snapshot_asm_ok\"))) if it writes no "
            "tracked memory, or announces it with snapshot_log_range()";
        if (instruction.getMetadata("srcloc") || !instruction.getDebugLoc())
            context.emitError(&instruction, text);
        else
            context.diagnose(DiagnosticInfoUnsupported(function, text, instruction.getDebugLoc()));
    }

    void redirectLibc() {
        static constexpr StringRef names[] = {
#define SNAPSHOT_ABI_LIBC(name) #name,
#include "snapshot/abi.def"
        };
        for (StringRef name : names)
            redirect(name);
    }

    // Uses of the declaration include its address, so calls through pointers are covered.
    void redirect(StringRef name) {
        Function *function = module.getFunction(name);
        if (!function || !function->isDeclarationForLinker() || function->use_empty())
            return;
        FunctionCallee wrapper =
            module.getOrInsertFunction(("__snapshot_libc_" + name).str(), function->getFunctionType());
        for (const User *user : function->users())
            if (const auto *instruction = dyn_cast<Instruction>(user))
                countsOf[instruction->getFunction()].libcUses++;
            else
                outsideFunctions.libcUses++;
        function->replaceAllUsesWith(wrapper.getCallee());
    }

    Module &module;
    LLVMContext &context;
    FunctionAnalysisManager &analyses;
    EpochEnds ends;
    GlobalVariable *base, *size;
    FunctionCallee logFunction;
    std::map<const Function *, Counts> countsOf;
    Counts outsideFunctions;
};

struct SnapshotPass : PassInfoMixin<SnapshotPass> {
    PreservedAnalyses run(Module &module, ModuleAnalysisManager &manager) {
        constexpr StringRef done = "snapshot-instrumented"; // link-time optimisation runs the pipeline twice
        if (module.getModuleFlag(done))
            return PreservedAnalyses::all();
        Instrumenter instrumenter(module, manager.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager());
        instrumenter.run();
        module.addModuleFlag(Module::Max, done, 1);
        if (ReportOption || std::getenv("SNAPSHOT_REPORT"))
            instrumenter.report();
        return PreservedAnalyses::none();
    }
    static bool isRequired() { return true; }
};

struct SnapshotMarkPass : PassInfoMixin<SnapshotMarkPass> {
    PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
        markAnnotatedAsm(module);
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
