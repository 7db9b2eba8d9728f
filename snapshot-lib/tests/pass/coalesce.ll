; SPDX-License-Identifier: BSD-3-Clause
; RUN: %snapopt %s | FileCheck %s
; RUN: %snapopt -snapshot-no-hoist -snapshot-no-elide-repeated %s | FileCheck %s
; RUN: %snapopt -snapshot-no-coalesce %s | FileCheck --check-prefix=OFF %s

declare void @unknown()
declare i64 @strlen(ptr) memory(argmem: read)
declare ptr @__errno_location() memory(none)
declare i64 @pure(ptr) memory(read)
declare ptr @constant() memory(none) nosync

define internal i64 @reads(ptr %p) noinline memory(read) {
  %x = call i64 @strlen(ptr %p)
  %again = call i64 @reads(ptr %p)
  ret i64 %x
}

define internal i64 @locks(ptr %p) noinline memory(read) {
  call void @unknown()
  ret i64 0
}

define internal void @acquires(ptr %p) noinline memory(argmem: readwrite) {
  %x = load atomic i64, ptr %p acquire, align 8
  ret void
}

; Neighbours: one test and one call for all of them, before the first store.
define void @neighbours(ptr %p) {
; CHECK-LABEL: define void @neighbours(
; CHECK: icmp ult
; CHECK: call {{.*}}@__snapshot_log(ptr %p, i64 24)
; CHECK-NOT: icmp ult
; CHECK: store i64 1
; OFF-LABEL: define void @neighbours(
; OFF-COUNT-3: icmp ult
  %second = getelementptr i8, ptr %p, i64 8
  %third = getelementptr i8, ptr %p, i64 16
  store i64 1, ptr %p
  store i64 2, ptr %second
  store i64 3, ptr %third
  ret void
}

; The guard begins at the lowest address, whatever the order of the stores.
define void @downwards(ptr %p) {
; CHECK-LABEL: define void @downwards(
; CHECK: [[FIRST:%.*]] = getelementptr i8, ptr %p, i64 -8
; CHECK: icmp ult
; CHECK: @__snapshot_log(ptr [[FIRST]], i64 16)
; CHECK-NOT: icmp ult
; CHECK: ret void
  store i64 1, ptr %p
  %before = getelementptr i8, ptr %p, i64 -8
  store i64 2, ptr %before
  ret void
}

; Far apart: one test, and the lines between are not logged.
define void @apart(ptr %p) {
; CHECK-LABEL: define void @apart(
; CHECK: icmp ult
; CHECK: @__snapshot_log(ptr %p, i64 8)
; CHECK: @__snapshot_log(ptr {{.*}}, i64 4)
; CHECK-NOT: icmp ult
; CHECK: ret void
  store i64 1, ptr %p
  %far = getelementptr i8, ptr %p, i64 500
  store i32 2, ptr %far
  ret void
}

; Too far for one object that surely lies in one file.
define void @too_far(ptr %p) {
; CHECK-LABEL: define void @too_far(
; CHECK-COUNT-2: icmp ult
  store i64 1, ptr %p
  %far = getelementptr i8, ptr %p, i64 5000
  store i32 2, ptr %far
  ret void
}

; A commit may lie in the call, and behind the acquire.
define void @epochs(ptr %p, ptr %flag) {
; CHECK-LABEL: define void @epochs(
; CHECK: @__snapshot_log(ptr %p, i64 8)
; CHECK: call void @unknown
; CHECK: icmp ult
; CHECK: @__snapshot_log(ptr {{.*}}, i64 8)
; CHECK: load atomic
; CHECK: icmp ult
; CHECK: @__snapshot_log(ptr {{.*}}, i64 8)
; CHECK: fence
; CHECK: icmp ult
; CHECK: @__snapshot_log(ptr {{.*}}, i64 8)
  %second = getelementptr i8, ptr %p, i64 8
  %third = getelementptr i8, ptr %p, i64 16
  %fourth = getelementptr i8, ptr %p, i64 24
  store i64 1, ptr %p
  call void @unknown()
  store i64 2, ptr %second
  %seen = load atomic i64, ptr %flag acquire, align 8
  store i64 3, ptr %third
  fence seq_cst
  store i64 4, ptr %fourth
  ret void
}

; Neither a function that only reads, as its body shows or the library says, nor a release can have a commit behind it.
define void @no_epoch(ptr %p, ptr %q) {
; CHECK-LABEL: define void @no_epoch(
; CHECK: @__snapshot_log(ptr %p, i64 24)
; CHECK-NOT: __snapshot_log
; CHECK: ret void
  %second = getelementptr i8, ptr %p, i64 8
  %third = getelementptr i8, ptr %p, i64 16
  store i64 1, ptr %p
  %x = call i64 @reads(ptr %q)
  %y = call i64 @strlen(ptr %q)
  %e = call ptr @__errno_location()
  store atomic i64 %x, ptr %second release, align 8
  fence release
  store i64 3, ptr %third
  ret void
}

; What a program declares pure or const may wait for another thread.
define void @declared(ptr %p, ptr %q) {
; CHECK-LABEL: define void @declared(
; CHECK: @__snapshot_log(ptr %p, i64 8)
; CHECK: call i64 @pure
; CHECK: @__snapshot_log
; CHECK: call ptr @constant
; CHECK: @__snapshot_log
; CHECK: call i64 @locks
; CHECK: @__snapshot_log
; CHECK: call void @acquires
; CHECK: @__snapshot_log
; CHECK: ret void
  store i64 1, ptr %p
  %a = call i64 @pure(ptr %q)
  store i64 2, ptr %p
  %b = call ptr @constant()
  store i64 3, ptr %p
  %c = call i64 @locks(ptr %q)
  store i64 4, ptr %p
  call void @acquires(ptr %q)
  store i64 5, ptr %p
  ret void
}
