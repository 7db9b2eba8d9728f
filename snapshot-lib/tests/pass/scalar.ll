; SPDX-License-Identifier: BSD-3-Clause
; RUN: %snapopt %s | FileCheck %s

; One subtraction and one unsigned comparison in line; the call in a cold block, with the size of the store.
define void @word(ptr %p) {
; CHECK-LABEL: define void @word(
; CHECK:         [[A:%.*]] = ptrtoint ptr %p to i64
; CHECK-NEXT:    [[BASE:%.*]] = load i64, ptr @__snapshot_base
; CHECK-NEXT:    [[OFF:%.*]] = sub i64 [[A]], [[BASE]]
; CHECK-NEXT:    [[SIZE:%.*]] = load i64, ptr @__snapshot_size
; CHECK-NEXT:    [[IN:%.*]] = icmp ult i64 [[OFF]], [[SIZE]]
; CHECK-NEXT:    br i1 [[IN]], label %[[COLD:.*]], label %[[CONT:.*]], !prof [[UNLIKELY:![0-9]+]]
; CHECK:       [[COLD]]:
; CHECK-NEXT:    call preserve_mostcc void @__snapshot_log(ptr %p, i64 8)
; CHECK:       [[CONT]]:
; CHECK-NEXT:    store i64 1, ptr %p
  store i64 1, ptr %p
  ret void
}

; Every width is logged as wide as it is.
define void @widths(ptr %p, i1 %b, i128 %w, x86_fp80 %f, <8 x float> %v, <16 x i64> %x, { i8, i32 } %s) {
; CHECK-LABEL: define void @widths(
; CHECK: @__snapshot_log(ptr %p, i64 1)
; CHECK: @__snapshot_log(ptr %p, i64 2)
; CHECK: @__snapshot_log(ptr %p, i64 16)
; CHECK: @__snapshot_log(ptr %p, i64 10)
; CHECK: @__snapshot_log(ptr %p, i64 32)
; CHECK: @__snapshot_log(ptr %p, i64 128)
; CHECK: @__snapshot_log(ptr %p, i64 8)
; CHECK: @__snapshot_log(ptr %p, i64 4)
  store i1 %b, ptr %p
  store volatile i16 2, ptr %p
  store i128 %w, ptr %p
  store x86_fp80 %f, ptr %p
  store <8 x float> %v, ptr %p, align 1
  store <16 x i64> %x, ptr %p, !nontemporal !0
  store { i8, i32 } %s, ptr %p
  store atomic i32 3, ptr %p release, align 4
  ret void
}

define void @atomics(ptr %p, ptr %q) {
; CHECK-LABEL: define void @atomics(
; CHECK:      @__snapshot_log(ptr %p, i64 4)
; CHECK:      atomicrmw add
; CHECK:      @__snapshot_log(ptr %q, i64 16)
; CHECK:      cmpxchg
  %old = atomicrmw add ptr %p, i32 1 seq_cst
  %pair = cmpxchg ptr %q, i128 0, i128 1 seq_cst seq_cst
  ret void
}

!0 = !{i32 1}
; CHECK: !{i32 7, !"snapshot-instrumented", i32 1}
; CHECK: [[UNLIKELY]] = !{!"branch_weights", i32 1, i32 {{[0-9]+}}}
