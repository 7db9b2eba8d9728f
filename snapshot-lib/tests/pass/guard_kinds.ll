; SPDX-License-Identifier: BSD-3-Clause
; RUN: %snapopt -snapshot-guard=full %s | FileCheck --check-prefixes=FULL,TEST %s
; RUN: %snapopt -snapshot-guard=check %s | FileCheck --check-prefixes=CHECK,TEST %s
; RUN: %snapopt -snapshot-guard=noop %s | FileCheck --check-prefix=NOOP --implicit-check-not=icmp %s
; RUN: not %snapopt -snapshot-guard=other %s 2>&1 | FileCheck --check-prefix=OTHER %s

; The same test in line, and another function behind it; or a call in line, without a test.
define void @store(ptr %p) {
; TEST-LABEL:  define void @store(
; TEST:          icmp ult i64
; TEST-NEXT:     br i1
; FULL:          call preserve_mostcc void @__snapshot_log(ptr %p, i64 4)
; CHECK:         call preserve_mostcc void @__snapshot_noop(ptr %p, i64 4)
; TEST:          store i32 1, ptr %p
; NOOP-LABEL:  define void @store(
; NOOP-NEXT:     call preserve_mostcc void @__snapshot_noop(ptr %p, i64 4)
; NOOP-NEXT:     store i32 1, ptr %p
  store i32 1, ptr %p
  ret void
}

; A size known at run time only.
define void @copy(ptr %to, ptr %from, i32 %bytes) {
; TEST-LABEL:  define void @copy(
; TEST:          [[WIDE:%.*]] = zext i32 %bytes to i64
; FULL-NEXT:     call preserve_mostcc void @__snapshot_log(ptr %to, i64 [[WIDE]])
; CHECK-NEXT:    call preserve_mostcc void @__snapshot_noop(ptr %to, i64 [[WIDE]])
; NOOP-LABEL:  define void @copy(
; NOOP-NEXT:     [[WIDE:%.*]] = zext i32 %bytes to i64
; NOOP-NEXT:     call preserve_mostcc void @__snapshot_noop(ptr %to, i64 [[WIDE]])
; NOOP-NEXT:     call void @llvm.memcpy
  call void @llvm.memcpy.p0.p0.i32(ptr %to, ptr %from, i32 %bytes, i1 false)
  ret void
}

; OTHER: Cannot find option named 'other'
