; SPDX-License-Identifier: BSD-3-Clause
; RUN: %snapopt %s | FileCheck %s
; RUN: %snapopt -snapshot-no-coalesce -snapshot-no-elide-repeated %s | FileCheck %s
; RUN: %snapopt -snapshot-no-hoist %s | FileCheck --check-prefix=OFF %s

declare void @unknown()

; n words from p on: one guard before the loop.
define void @counted(ptr %p, i64 %n) {
; CHECK-LABEL: define void @counted(
; CHECK: entry:
; CHECK: [[BYTES:%.*]] = shl i64 %n, 3
; CHECK: icmp ult
; CHECK: @__snapshot_log(ptr %p, i64 [[BYTES]])
; CHECK: body:
; CHECK-NOT: __snapshot_log
; CHECK: ret void
; OFF-LABEL: define void @counted(
; OFF: body:
; OFF: @__snapshot_log(
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %at = getelementptr i64, ptr %p, i64 %i
  store i64 %i, ptr %at
  %next = add nuw i64 %i, 1
  %more = icmp ne i64 %next, %n
  br i1 %more, label %body, label %end
end:
  ret void
}

; Downwards from p, 100 times: the range begins at the last.
define void @downwards(ptr %p) {
; CHECK-LABEL: define void @downwards(
; CHECK: entry:
; CHECK: [[FIRST:%.*]] = getelementptr i8, ptr %p, i64 -396
; CHECK: @__snapshot_log(ptr [[FIRST]], i64 400)
; CHECK: body:
; CHECK-NOT: __snapshot_log
; CHECK: ret void
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %at = getelementptr i32, ptr %p, i64 %i
  store i32 1, ptr %at
  %next = add nsw i64 %i, -1
  %more = icmp ne i64 %next, -100
  br i1 %more, label %body, label %end
end:
  ret void
}

; Always the same place: out of both loops.
define void @invariant(ptr %p, i64 %n) {
; CHECK-LABEL: define void @invariant(
; CHECK: entry:
; CHECK: @__snapshot_log(ptr %p, i64 8)
; CHECK: outer:
; CHECK-NOT: __snapshot_log
; CHECK: ret void
entry:
  br label %outer
outer:
  %j = phi i64 [ 0, %entry ], [ %j.next, %outer.latch ]
  br label %body
body:
  %i = phi i64 [ 0, %outer ], [ %next, %body ]
  store i64 %i, ptr %p
  %next = add nuw i64 %i, 1
  %more = icmp ne i64 %next, %n
  br i1 %more, label %body, label %outer.latch
outer.latch:
  %j.next = add nuw i64 %j, 1
  %j.more = icmp ne i64 %j.next, %n
  br i1 %j.more, label %outer, label %end
end:
  ret void
}

; Not what is written in some iterations only: a guard must not log what is not written.
define void @conditional(ptr %p, i64 %n, i64 %mask) {
; CHECK-LABEL: define void @conditional(
; CHECK: body:
; CHECK: then:
; CHECK: __snapshot_log
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %bit = and i64 %i, %mask
  %c = icmp ne i64 %bit, 0
  br i1 %c, label %then, label %latch
then:
  %at = getelementptr i64, ptr %p, i64 %i
  store i64 %i, ptr %at
  br label %latch
latch:
  %next = add nuw i64 %i, 1
  %more = icmp ne i64 %next, %n
  br i1 %more, label %body, label %end
end:
  ret void
}

; Nor if whole lines between are left out, nor if a call may commit.
define void @sparse(ptr %p, i64 %n) {
; CHECK-LABEL: define void @sparse(
; CHECK: body:
; CHECK: __snapshot_log
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %at = getelementptr [16 x i64], ptr %p, i64 %i
  store i64 %i, ptr %at
  %next = add nuw i64 %i, 1
  %more = icmp ne i64 %next, %n
  br i1 %more, label %body, label %end
end:
  ret void
}

define void @epoch(ptr %p, i64 %n) {
; CHECK-LABEL: define void @epoch(
; CHECK: body:
; CHECK: __snapshot_log
; CHECK: call void @unknown
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %at = getelementptr i64, ptr %p, i64 %i
  store i64 %i, ptr %at
  call void @unknown()
  %next = add nuw i64 %i, 1
  %more = icmp ne i64 %next, %n
  br i1 %more, label %body, label %end
end:
  ret void
}

; Nor if the loop can be left in the middle.
define void @early_exit(ptr %p, i64 %n) {
; CHECK-LABEL: define void @early_exit(
; CHECK: body:
; CHECK: __snapshot_log
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %at = getelementptr i64, ptr %p, i64 %i
  %old = load i64, ptr %at
  store i64 %i, ptr %at
  %stop = icmp eq i64 %old, 7
  br i1 %stop, label %end, label %latch
latch:
  %next = add nuw i64 %i, 1
  %more = icmp ne i64 %next, %n
  br i1 %more, label %body, label %end
end:
  ret void
}
