; SPDX-License-Identifier: BSD-3-Clause
; RUN: not %snapopt %s 2>&1 | FileCheck %s

; CHECK: error: inline assembly may write memory that snapshot does not see (in function f of {{.*}}refused_asm.ll)
; CHECK-SAME: snapshot_asm_ok
define void @f(ptr %p) {
  call void asm sideeffect "movl $$1, ($0)", "r,~{memory}"(ptr %p)
  ret void
}
