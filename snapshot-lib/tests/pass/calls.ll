; SPDX-License-Identifier: BSD-3-Clause
; RUN: %every

declare void @foreign(ptr sret([40 x i8]))
declare i32 @_setjmp(ptr) returns_twice
declare i32 @llvm.eh.sjlj.setjmp(ptr)
declare void @unknown(ptr)

define internal void @own(ptr sret([40 x i8]) %result) {
  ret void
}

; A structure returned by code that may not have been through the pass.
define void @returned(ptr %p, ptr %q, ptr %function) {
; CHECK-LABEL: define void @returned(
; CHECK: @__snapshot_log(ptr %p, i64 40)
; CHECK: call void @foreign
; CHECK: @__snapshot_log(ptr %q, i64 40)
; CHECK: call void %function
; CHECK-NOT: @__snapshot_log
; CHECK: ret void
  call void @foreign(ptr sret([40 x i8]) %p)
  call void %function(ptr sret([40 x i8]) %q)
  call void @own(ptr sret([40 x i8]) %p)
  ret void
}

define void @jump_buffers(ptr %p, ptr %q) {
; CHECK-LABEL: define void @jump_buffers(
; CHECK: @__snapshot_log(ptr %p, i64 200)
; CHECK: call i32 @_setjmp
; CHECK: @__snapshot_log(ptr %q, i64 40)
; CHECK: call i32 @llvm.eh.sjlj.setjmp
  call i32 @_setjmp(ptr %p)
  call i32 @llvm.eh.sjlj.setjmp(ptr %q)
  ret void
}

; What a callee writes is tracked where the callee is compiled.
define void @passed_on(ptr %p) {
; CHECK-LABEL: define void @passed_on(
; CHECK-NOT: @__snapshot_log
; CHECK: ret void
  call void @unknown(ptr %p)
  ret void
}
