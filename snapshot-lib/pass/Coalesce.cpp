// SPDX-License-Identifier: BSD-3-Clause
//
// Fewer guards within and between basic blocks.
#include "Guards.h"
#include "Options.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"

using namespace llvm;

namespace snapshot {

// Pieces of one guard lie so close together that they cannot be in two files, which are a page apart.
static constexpr int64_t SpanMax = 2048;

Guard guardOf(const Write &write) {
    const auto *bytes = dyn_cast<ConstantInt>(write.bytes);
    if (write.mask || !bytes || bytes->getValue().ugt(SpanMax))
        return {write.instruction, write.address, {}, write.bytes, write.mask};
    int64_t offset = 0;
    const DataLayout &layout = write.instruction->getModule()->getDataLayout();
    Value *base = GetPointerBaseWithConstantOffset(write.address, offset, layout);
    if (base->getType() != write.address->getType()) {
        base = write.address;
        offset = 0;
    }
    int64_t end = offset + static_cast<int64_t>(bytes->getZExtValue());
    return {write.instruction, base, {{offset, end}}};
}

using GuardsAt = DenseMap<const Instruction *, SmallVector<Guards::iterator, 2>>;

static GuardsAt guardsByPlace(Guards &guards) {
    GuardsAt result;
    for (auto guard = guards.begin(); guard != guards.end(); ++guard)
        result[guard->before].push_back(guard);
    return result;
}

static void mergeClose(SmallVectorImpl<Piece> &pieces) {
    sort(pieces, [](Piece a, Piece b) { return a.begin < b.begin; });
    SmallVector<Piece, 2> merged;
    for (Piece piece : pieces)
        if (!merged.empty() && piece.begin <= merged.back().end + GapMax)
            merged.back().end = std::max(merged.back().end, piece.end);
        else
            merged.push_back(piece);
    pieces.assign(merged.begin(), merged.end());
}

// Adds the pieces of `later` to `earlier`, unless they lie too far apart.
static bool join(Guard &earlier, const Guard &later) {
    int64_t begin = std::min(earlier.pieces.front().begin, later.pieces.front().begin);
    int64_t end = std::max(earlier.pieces.back().end, later.pieces.back().end);
    if (end - begin > SpanMax)
        return false;
    earlier.pieces.append(later.pieces);
    mergeClose(earlier.pieces);
    return true;
}

unsigned coalesceInBlocks(Guards &guards, Function &function, EpochEnds &ends) {
    unsigned count = 0;
    GuardsAt at = guardsByPlace(guards);
    for (BasicBlock &block : function) {
        DenseMap<Value *, Guards::iterator> open; // by base
        for (Instruction &instruction : block) {
            auto here = at.find(&instruction);
            for (auto guard : here == at.end() ? ArrayRef<Guards::iterator>() : ArrayRef(here->second)) {
                if (!guard->isConstant())
                    continue;
                auto [earlier, isNew] = open.try_emplace(guard->base, guard);
                if (isNew)
                    continue;
                if (join(*earlier->second, *guard)) {
                    guards.erase(guard);
                    count++;
                } else {
                    earlier->second = guard;
                }
            }
            if (ends.mayEnd(instruction))
                open.clear();
        }
    }
    return count;
}

// Which pieces are surely logged when a block begins: those that were on every path to it, with no end of an epoch
// since. A base that is set anew each time round a loop is no exception: the first path into the loop lacks its pieces.
class Availability {
  public:
    Availability(Guards &guards, Function &function, EpochEnds &ends) : ends(ends), at(guardsByPlace(guards)) {
        for (Guard &guard : guards)
            for (Piece piece : guard.isConstant() ? guard.pieces : ArrayRef<Piece>())
                facts.push_back({guard.base, piece});
        for (unsigned i = 0; i < facts.size(); i++)
            factsOf[facts[i].base].push_back(i);
        solve(function);
    }

    unsigned drop(Guards &guards, Function &function) {
        unsigned before = guards.size();
        for (BasicBlock *block : ReversePostOrderTraversal<Function *>(&function)) {
            BitVector known = atBegin(*block);
            for (Instruction &instruction : *block)
                step(instruction, known, [&](Guards::iterator guard) {
                    erase_if(guard->pieces, [&](Piece piece) { return isCovered(guard->base, piece, known); });
                    if (guard->pieces.empty())
                        dropped.push_back(guard);
                });
        }
        for (auto guard : dropped)
            guards.erase(guard);
        return before - guards.size();
    }

  private:
    struct Fact {
        Value *base;
        Piece piece;
    };

    bool isCovered(Value *base, Piece piece, const BitVector &known) const {
        return any_of(factsOf.lookup(base), [&](unsigned i) {
            return known[i] && facts[i].piece.begin <= piece.begin && piece.end <= facts[i].piece.end;
        });
    }

    // From before the instruction to after it; `visit` sees each guard before its pieces are known.
    template <class Visit> void step(Instruction &instruction, BitVector &known, Visit visit) {
        if (auto here = at.find(&instruction); here != at.end())
            for (auto guard : here->second) {
                if (!guard->isConstant())
                    continue;
                SmallVector<Piece, 2> pieces = guard->pieces;
                visit(guard);
                for (unsigned i : factsOf.lookup(guard->base))
                    if (any_of(pieces,
                               [&](Piece p) { return p.begin <= facts[i].piece.begin && facts[i].piece.end <= p.end; }))
                        known.set(i);
            }
        if (ends.mayEnd(instruction))
            known.reset();
    }

    BitVector atBegin(BasicBlock &block) {
        BitVector known(facts.size(), !pred_empty(&block));
        for (BasicBlock *before : predecessors(&block))
            if (auto end = atEnd.find(before); end != atEnd.end())
                known &= end->second;
        return known;
    }

    // A block not reached yet knows everything; unreachable predecessors stay so and restrict nothing.
    void solve(Function &function) {
        ReversePostOrderTraversal<Function *> order(&function);
        for (bool changed = true; changed;) {
            changed = false;
            for (BasicBlock *block : order) {
                BitVector known = atBegin(*block);
                for (Instruction &instruction : *block)
                    step(instruction, known, [](Guards::iterator) {});
                auto [end, isNew] = atEnd.try_emplace(block, known);
                changed |= isNew || end->second != known;
                end->second = known;
            }
        }
    }

    EpochEnds &ends;
    GuardsAt at;
    SmallVector<Fact, 32> facts;
    DenseMap<Value *, SmallVector<unsigned, 2>> factsOf;
    DenseMap<BasicBlock *, BitVector> atEnd;
    SmallVector<Guards::iterator, 8> dropped;
};

unsigned dropRepeated(Guards &guards, Function &function, EpochEnds &ends) {
    return Availability(guards, function, ends).drop(guards, function);
}

} // namespace snapshot
