// SPDX-License-Identifier: BSD-3-Clause
//
// The memory that an instruction writes, and the writes that need no guard.
#ifndef SNAPSHOT_PASS_WRITES_H
#define SNAPSHOT_PASS_WRITES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <optional>
#include <string>

namespace snapshot {

// One range of memory that `instruction` is going to write.
struct Write {
    llvm::Instruction *instruction;
    llvm::Value *address;
    llvm::Value *bytes;          // any integer type
    llvm::Value *mask = nullptr; // i1; null: always written
};
using Writes = llvm::SmallVectorImpl<Write>;

enum class Target { Unknown, Stack, Global, ThreadLocal, Exception, Segment };

// Where the address certainly points to; Unknown if it may be anywhere.
Target classify(llvm::Value *address);

// Appends the writes of the instruction. False: it may write memory in a way that cannot be tracked, see `reason`.
bool collectWrites(llvm::Instruction &instruction, Writes &writes, std::string &reason);

// The same for an intrinsic.
bool collectIntrinsic(llvm::IntrinsicInst &call, Writes &writes);

// Appends the declared writes of inline assembly. False: it may write anything, see `reason`.
bool collectAsmWrites(llvm::CallBase &call, Writes &writes, std::string &reason);

// Why this call of a libc function cannot be tracked, if it cannot.
std::optional<std::string> refusalOf(llvm::CallBase &call);

// Known to write nothing, or said to.
bool isHarmlessAsm(const llvm::CallBase &call);

// Before inlining: assembly and refused calls inside functions annotated "snapshot_asm_ok" get this attribute and keep
// it.
inline constexpr char AsmOkAttribute[] = "snapshot-asm-ok";
void markAnnotatedAsm(llvm::Module &module);

// Assembly outside of functions that has instructions, not only directives and labels.
bool hasModuleAsmInstructions(const llvm::Module &module);

// A size as the pass counts it.
llvm::Value *byteCount(llvm::Instruction &instruction, uint64_t bytes);
llvm::Value *sizeOf(llvm::Instruction &instruction, llvm::Type *type);

} // namespace snapshot

#endif
