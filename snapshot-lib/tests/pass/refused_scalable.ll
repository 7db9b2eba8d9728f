; SPDX-License-Identifier: BSD-3-Clause
; RUN: not %snapopt %s 2>&1 | FileCheck %s

; CHECK: error: a store of a scalable vector cannot be tracked (in function f of {{.*}}refused_scalable.ll)
define void @f(ptr %p, <vscale x 4 x i32> %v) {
  store <vscale x 4 x i32> %v, ptr %p
  ret void
}
