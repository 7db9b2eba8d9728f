; SPDX-License-Identifier: BSD-3-Clause
; RUN: %snapopt %s | FileCheck %s
; RUN: %snapopt -snapshot-no-hoist -snapshot-no-coalesce %s | FileCheck %s
; RUN: %snapopt -snapshot-no-elide-repeated %s | FileCheck --check-prefix=OFF %s

declare void @unknown()

; Guarded on every path to it.
define void @dominated(ptr %p, i1 %c) {
; CHECK-LABEL: define void @dominated(
; CHECK: @__snapshot_log(ptr %p, i64 8)
; CHECK-NOT: __snapshot_log
; CHECK: ret void
; OFF-LABEL: define void @dominated(
; OFF-COUNT-3: __snapshot_log
entry:
  store i64 1, ptr %p
  br i1 %c, label %then, label %end
then:
  store i64 2, ptr %p
  br label %end
end:
  %inner = getelementptr i8, ptr %p, i64 4
  store i32 3, ptr %inner
  ret void
}

; Guarded on one path only, and by too little.
define void @one_path(ptr %p, i1 %c) {
; CHECK-LABEL: define void @one_path(
; CHECK: then:
; CHECK: @__snapshot_log(ptr %p, i64 8)
; CHECK: end:
; CHECK: @__snapshot_log(ptr %p, i64 8)
; CHECK: next:
; CHECK: @__snapshot_log(ptr %p, i64 16)
entry:
  br i1 %c, label %then, label %end
then:
  store i64 2, ptr %p
  br label %end
end:
  store i64 3, ptr %p
  br label %next
next:
  store i128 3, ptr %p
  ret void
}

; On one of the paths a commit.
define void @epoch(ptr %p, i1 %c) {
; CHECK-LABEL: define void @epoch(
; CHECK: @__snapshot_log(ptr %p, i64 8)
; CHECK: call void @unknown
; CHECK: @__snapshot_log(ptr %p, i64 8)
entry:
  store i64 1, ptr %p
  br i1 %c, label %then, label %end
then:
  call void @unknown()
  br label %end
end:
  store i64 3, ptr %p
  ret void
}

; The pointer is another one each time round; within the body the second store is covered.
define void @loop(ptr %list) {
; CHECK-LABEL: define void @loop(
; CHECK: body:
; CHECK: @__snapshot_log(ptr %node, i64 8)
; CHECK: tail:
; CHECK-NOT: __snapshot_log
; CHECK: ret void
entry:
  br label %body
body:
  %node = phi ptr [ %list, %entry ], [ %next, %tail ]
  store i64 1, ptr %node
  br label %tail
tail:
  store i64 2, ptr %node
  %slot = getelementptr i8, ptr %node, i64 8
  %next = load ptr, ptr %slot
  %more = icmp ne ptr %next, null
  br i1 %more, label %body, label %end
end:
  ret void
}

; The same pointer each time round, but a commit at the end of each.
define void @loop_epoch(ptr %p, ptr %c) {
; CHECK-LABEL: define void @loop_epoch(
; CHECK: body:
; CHECK: @__snapshot_log(ptr %p, i64 8)
; CHECK: call void @unknown
entry:
  store i64 1, ptr %p
  br label %body
body:
  store i64 1, ptr %p
  call void @unknown()
  %more = load i1, ptr %c
  br i1 %more, label %body, label %end
end:
  ret void
}
