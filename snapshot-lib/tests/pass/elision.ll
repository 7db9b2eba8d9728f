; SPDX-License-Identifier: BSD-3-Clause
; RUN: %snapopt -snapshot-report %s 2>%t.err | FileCheck %s
; RUN: FileCheck --check-prefix=REPORT %s < %t.err

; REPORT: elision.ll: left_alone: 0 instrumented, 0 hoisted, 0 coalesced, 0 repeated, 5 stack, 3 global, 1 thread-local, 1 exception, 1 segment, 0 libc uses, 0 refused
; REPORT-NEXT: {{.*}}elision.ll: instrumented: 2 instrumented, 0 hoisted, 0 coalesced, 0 repeated, 0 stack,
; REPORT-NEXT: {{.*}}elision.ll: total: 2 instrumented, 0 hoisted, 0 coalesced, 0 repeated, 5 stack, 3 global, 1 thread-local, 1 exception, 1 segment, 0 libc uses, 0 refused

@table = global [4 x i32] zeroinitializer
@local = thread_local global i32 0

declare ptr @__cxa_allocate_exception(i64)
declare ptr @llvm.threadlocal.address.p0(ptr)

define void @left_alone(ptr byval([16 x i8]) %copy, i64 %i, i1 %c) {
; CHECK-LABEL: define void @left_alone(
; CHECK-NOT: __snapshot_log
; CHECK: ret void
  %a = alloca [64 x i8]
  %b = alloca i64
  store i8 1, ptr %a
  %gep = getelementptr i8, ptr %a, i64 %i
  store i8 2, ptr %gep
  %either = select i1 %c, ptr %gep, ptr %b
  store i8 3, ptr %either
  store i8 4, ptr %copy
  call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 64, i1 false)
  %stack_or_global = select i1 %c, ptr %a, ptr @table
  store i8 5, ptr %stack_or_global
  store i32 6, ptr @table
  %element = getelementptr [4 x i32], ptr @table, i64 0, i64 %i
  store i32 7, ptr %element
  store i32 8, ptr addrspace(257) null
  %thread = call ptr @llvm.threadlocal.address.p0(ptr @local)
  store i32 9, ptr %thread
  %exception = call ptr @__cxa_allocate_exception(i64 4)
  store i32 10, ptr %exception
  ret void
}

; What may be either is instrumented: the heap, arguments, pointers that were loaded.
define void @instrumented(ptr %p, i1 %c) {
; CHECK-LABEL: define void @instrumented(
; CHECK: @__snapshot_log(ptr %either, i64 1)
; CHECK: @__snapshot_log(ptr %loaded, i64 1)
  %a = alloca i8
  %either = select i1 %c, ptr %a, ptr %p
  store i8 1, ptr %either
  %loaded = load ptr, ptr %p
  store i8 2, ptr %loaded
  ret void
}

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
