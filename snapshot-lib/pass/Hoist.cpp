// SPDX-License-Identifier: BSD-3-Clause
//
// One guard before a loop for the writes of all its iterations. Only for writes of every iteration of a counted loop: a
// guard must not log lines that are not written.
#include "Guards.h"
#include "Options.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;

namespace snapshot {

namespace {

class Hoister {
  public:
    Hoister(Guards &guards, Function &function, DominatorTree &tree, ScalarEvolution &evolution,
            TargetTransformInfo &target, EpochEnds &ends)
        : guards(guards), ends(ends), tree(tree), evolution(evolution), target(target),
          expander(evolution, function.getParent()->getDataLayout(), "snapshot") {}

    // Innermost loops first, so that a guard that left one loop may leave the next.
    void visit(Loop &loop) {
        for (Loop *inner : loop)
            visit(*inner);
        if (!isSuitable(loop))
            return;
        for (auto guard = guards.begin(); guard != guards.end();) {
            auto next = std::next(guard);
            if (guard->isConstant() && loop.contains(guard->before) && isInEveryIteration(*guard, loop))
                hoist(guard, loop);
            guard = next;
        }
    }

  private:
    // Left from the latch only: every iteration that begins is completed.
    bool isSuitable(const Loop &loop) const {
        if (!loop.getLoopPreheader() || !loop.getLoopLatch() || loop.getExitingBlock() != loop.getLoopLatch())
            return false;
        for (const BasicBlock *block : loop.blocks())
            for (const Instruction &instruction : *block)
                if (ends.mayEnd(instruction))
                    return false;
        return true;
    }

    bool isInEveryIteration(const Guard &guard, const Loop &loop) const {
        return tree.dominates(guard.before->getParent(), loop.getLoopLatch());
    }

    void hoist(Guards::iterator guard, const Loop &loop) {
        Instruction *place = loop.getLoopPreheader()->getTerminator();
        if (loop.isLoopInvariant(guard->base)) {
            guard->before = place;
            guard->isHoisted = true;
            return;
        }
        const auto *address = dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(guard->base));
        if (address && address->getLoop() == &loop && address->isAffine() && guard->pieces.size() == 1)
            hoistRange(guard, *address, loop, place);
    }

    void hoistRange(Guards::iterator guard, const SCEVAddRecExpr &address, const Loop &loop, Instruction *place) {
        const auto *step = dyn_cast<SCEVConstant>(address.getStepRecurrence(evolution));
        const SCEV *turns = evolution.getBackedgeTakenCount(&loop);
        if (!step || isa<SCEVCouldNotCompute>(turns))
            return;
        int64_t stride = step->getAPInt().getSExtValue(), width = guard->pieces[0].end - guard->pieces[0].begin;
        if (std::abs(stride) > width + GapMax)
            return;
        Type *word = Type::getInt64Ty(place->getContext());
        if (evolution.getTypeSizeInBits(turns->getType()) > 64)
            return;
        turns = evolution.getNoopOrZeroExtend(turns, word);
        const SCEV *advance = evolution.getMulExpr(turns, evolution.getConstant(word, std::abs(stride)));
        const SCEV *first = evolution.getAddExpr(
            address.getStart(), evolution.getConstant(word, static_cast<uint64_t>(guard->pieces[0].begin), true));
        if (stride < 0)
            first = evolution.getMinusSCEV(first, advance);
        const SCEV *bytes = evolution.getAddExpr(advance, evolution.getConstant(word, width));
        emit(guard, first, bytes, loop, place);
    }

    void emit(Guards::iterator guard, const SCEV *first, const SCEV *bytes, const Loop &loop, Instruction *place) {
        auto isCheap = [&](const SCEV *value) {
            return expander.isSafeToExpandAt(value, place) &&
                   !expander.isHighCostExpansion(value, const_cast<Loop *>(&loop), Budget, &target, place);
        };
        if (!isCheap(first) || !isCheap(bytes))
            return;
        guard->base = expander.expandCodeFor(first, guard->base->getType(), place);
        guard->bytes = expander.expandCodeFor(bytes, bytes->getType(), place);
        guard->pieces.clear();
        guard->before = place;
        guard->isHoisted = true;
    }

    static constexpr unsigned Budget = 8; // of arithmetic before the loop, in the units of SCEVExpander

    Guards &guards;
    EpochEnds &ends;
    DominatorTree &tree;
    ScalarEvolution &evolution;
    TargetTransformInfo &target;
    SCEVExpander expander;
};

} // namespace

void hoistFromLoops(Guards &guards, Function &function, LoopInfo &loops, DominatorTree &tree,
                    ScalarEvolution &evolution, TargetTransformInfo &target, EpochEnds &ends) {
    Hoister hoister(guards, function, tree, evolution, target, ends);
    for (Loop *loop : loops)
        hoister.visit(*loop);
}

} // namespace snapshot
