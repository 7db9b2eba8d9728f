; SPDX-License-Identifier: BSD-3-Clause
; RUN: %every

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
define void @widths(ptr %p, ptr %q, ptr %r, ptr %s, ptr %t, ptr %u, ptr %v, ptr %w, i1 %b, i128 %i, x86_fp80 %f, <8 x float> %g, <16 x i64> %x, { i8, i32 } %y) {
; CHECK-LABEL: define void @widths(
; CHECK: @__snapshot_log(ptr %p, i64 1)
; CHECK: @__snapshot_log(ptr %q, i64 2)
; CHECK: @__snapshot_log(ptr %r, i64 16)
; CHECK: @__snapshot_log(ptr %s, i64 10)
; CHECK: @__snapshot_log(ptr %t, i64 32)
; CHECK: @__snapshot_log(ptr %u, i64 128)
; CHECK: @__snapshot_log(ptr %v, i64 8)
; CHECK: @__snapshot_log(ptr %w, i64 4)
  store i1 %b, ptr %p
  store volatile i16 2, ptr %q
  store i128 %i, ptr %r
  store x86_fp80 %f, ptr %s
  store <8 x float> %g, ptr %t, align 1
  store <16 x i64> %x, ptr %u, !nontemporal !0
  store { i8, i32 } %y, ptr %v
  store atomic i32 3, ptr %w release, align 4
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
