; SPDX-License-Identifier: BSD-3-Clause
; RUN: not %snapopt %s 2>&1 | FileCheck %s

; CHECK: error: intrinsic llvm.x86.xsave may write memory and is not known (in function f of {{.*}}refused_intrinsic.ll)
define void @f(ptr %p) {
  call void @llvm.x86.xsave(ptr %p, i32 0, i32 0)
  ret void
}

declare void @llvm.x86.xsave(ptr, i32, i32)
