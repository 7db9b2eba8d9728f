; SPDX-License-Identifier: BSD-3-Clause
; A module that went through the pass is left as it is: link-time optimisation runs the pipeline again.
; RUN: %snapopt %s | %snapopt - | FileCheck %s

; CHECK-LABEL: define void @f(
; CHECK-COUNT-1: call preserve_mostcc void @__snapshot_log
; CHECK-NOT: call
define void @f(ptr %p) {
  store i8 1, ptr %p
  ret void
}
