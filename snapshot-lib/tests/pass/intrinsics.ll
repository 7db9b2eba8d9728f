; SPDX-License-Identifier: BSD-3-Clause
; RUN: %every

define void @memory(ptr %p, ptr %q, i32 %n, i64 %m) {
; CHECK-LABEL: define void @memory(
; CHECK: [[N:%.*]] = zext i32 %n to i64
; CHECK: @__snapshot_log(ptr %p, i64 [[N]])
; CHECK: call void @llvm.memcpy.p0.p0.i32
; CHECK: @__snapshot_log(ptr %p, i64 %m)
; CHECK: call void @llvm.memmove.p0.p0.i64
; CHECK: @__snapshot_log(ptr %q, i64 40)
; CHECK: call void @llvm.memset.inline.p0.i64
; CHECK: @__snapshot_log(ptr %p, i64 8)
; CHECK: call void @llvm.memcpy.element.unordered.atomic.p0.p0.i64
  call void @llvm.memcpy.p0.p0.i32(ptr %p, ptr %q, i32 %n, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr %p, ptr %q, i64 %m, i1 true)
  call void @llvm.memset.inline.p0.i64(ptr %q, i8 0, i64 40, i1 false)
  call void @llvm.memcpy.element.unordered.atomic.p0.p0.i64(ptr align 4 %p, ptr align 4 %q, i64 8, i32 4)
  ret void
}

; All of the vector, and a test at its end: the first lanes may be masked off and lie before the file.
define void @masked(<8 x i32> %v, ptr %p, ptr %q, ptr %r, <8 x i1> %mask, <8 x float> %f, <8 x i32> %bits) {
; CHECK-LABEL: define void @masked(
; CHECK-DAG: @__snapshot_log(ptr %p, i64 32)
; CHECK-DAG: getelementptr i8, ptr %p, i64 31
; CHECK: call void @llvm.masked.store
; CHECK: @__snapshot_log(ptr %q, i64 32)
; CHECK: call void @llvm.masked.compressstore
; CHECK: @__snapshot_log(ptr %r, i64 32)
; CHECK: call void @llvm.x86.avx.maskstore.ps.256
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v, ptr %p, i32 4, <8 x i1> %mask)
  call void @llvm.masked.compressstore.v8i32(<8 x i32> %v, ptr %q, <8 x i1> %mask)
  call void @llvm.x86.avx.maskstore.ps.256(ptr %r, <8 x i32> %bits, <8 x float> %f)
  ret void
}

define void @x86(ptr %p, ptr %q, ptr %r, ptr %s, <8 x i64> %index, <8 x double> %v, i8 %mask, <16 x i32> %w) {
; CHECK-LABEL: define void @x86(
; CHECK: @__snapshot_log(ptr %p, i64 4)
; CHECK: call void @llvm.x86.sse.stmxcsr
; CHECK: @__snapshot_log(ptr %q, i64 64)
; CHECK: call void @llvm.x86.movdir64b
; CHECK: @__snapshot_log(ptr %r, i64 8)
; CHECK: call void @llvm.x86.directstore64
; CHECK-COUNT-8: @__snapshot_log(ptr {{.*}}, i64 8)
; CHECK: call void @llvm.x86.avx512.mask.scatter.qpd.512
; CHECK: @__snapshot_log(ptr %s, i64 64)
; CHECK: call void @llvm.x86.avx512.mask.pmov.db.mem.512
  call void @llvm.x86.sse.stmxcsr(ptr %p)
  call void @llvm.x86.movdir64b(ptr %q, ptr %p)
  call void @llvm.x86.directstore64(ptr %r, i64 1)
  %bits = bitcast i8 %mask to <8 x i1>
  call void @llvm.x86.avx512.mask.scatter.qpd.512(ptr %r, <8 x i1> %bits, <8 x i64> %index, <8 x double> %v, i32 8)
  call void @llvm.x86.avx512.mask.pmov.db.mem.512(ptr %s, <16 x i32> %w, i16 -1)
  ret void
}

define void @vector_predicated(<4 x i64> %v, ptr %p, <4 x i1> %mask) {
; CHECK-LABEL: define void @vector_predicated(
; CHECK: @__snapshot_log(ptr %p, i64 32)
; CHECK: call void @llvm.vp.store
  call void @llvm.vp.store.v4i64.p0(<4 x i64> %v, ptr %p, <4 x i1> %mask, i32 3)
  ret void
}

; One test per lane, and only for lanes whose bit is set.
define void @scatter(<2 x i16> %v, <2 x ptr> %p, <2 x i1> %mask) {
; CHECK-LABEL: define void @scatter(
; CHECK: [[P0:%.*]] = extractelement <2 x ptr> %p, i64 0
; CHECK: [[M0:%.*]] = extractelement <2 x i1> %mask, i64 0
; CHECK: [[IN:%.*]] = icmp ult
; CHECK: and i1 [[IN]], [[M0]]
; CHECK: @__snapshot_log(ptr [[P0]], i64 2)
; CHECK: @__snapshot_log(ptr {{%.*}}, i64 2)
; CHECK: call void @llvm.masked.scatter
  call void @llvm.masked.scatter.v2i16.v2p0(<2 x i16> %v, <2 x ptr> %p, i32 2, <2 x i1> %mask)
  ret void
}

define void @harmless(ptr %p) {
; CHECK-LABEL: define void @harmless(
; CHECK-NOT: __snapshot_log
; CHECK: ret void
  call void @llvm.prefetch.p0(ptr %p, i32 1, i32 3, i32 1)
  call void @llvm.x86.clwb(ptr %p)
  call void @llvm.x86.sse.sfence()
  call void @llvm.x86.avx.vzeroupper()
  call i32 @llvm.x86.xbegin()
  call void @llvm.assume(i1 true)
  fence seq_cst
  %x = load volatile i32, ptr %p
  ret void
}

declare void @llvm.memcpy.p0.p0.i32(ptr, ptr, i32, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.inline.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.element.unordered.atomic.p0.p0.i64(ptr, ptr, i64, i32)
declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, i32, <8 x i1>)
declare void @llvm.masked.compressstore.v8i32(<8 x i32>, ptr, <8 x i1>)
declare void @llvm.masked.scatter.v2i16.v2p0(<2 x i16>, <2 x ptr>, i32, <2 x i1>)
declare void @llvm.x86.avx.maskstore.ps.256(ptr, <8 x i32>, <8 x float>)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare void @llvm.x86.clwb(ptr)
declare void @llvm.x86.sse.sfence()
declare void @llvm.x86.avx.vzeroupper()
declare i32 @llvm.x86.xbegin()
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.movdir64b(ptr, ptr)
declare void @llvm.x86.directstore64(ptr, i64)
declare void @llvm.x86.avx512.mask.scatter.qpd.512(ptr, <8 x i1>, <8 x i64>, <8 x double>, i32 immarg)
declare void @llvm.x86.avx512.mask.pmov.db.mem.512(ptr, <16 x i32>, i16)
declare void @llvm.vp.store.v4i64.p0(<4 x i64>, ptr, <4 x i1>, i32)
declare void @llvm.assume(i1)
