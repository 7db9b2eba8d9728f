// SPDX-License-Identifier: BSD-3-Clause
// RUN: %snapclang -O0 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %snapclang -O1 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %snapclang -O2 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %snapclang -O3 -S -emit-llvm -o - %s | FileCheck %s
// RUN: not %snapclang -O0 -DREFUSED -c -o /dev/null %s 2>&1 | FileCheck --check-prefix=ERROR %s
// RUN: not %snapclang -O2 -DREFUSED -c -o /dev/null %s 2>&1 | FileCheck --check-prefix=ERROR %s

// An output in memory is a store of known size.
// CHECK-LABEL: define {{.*}}@output_operand(
// CHECK: @__snapshot_log(ptr {{.*}}, i64 8)
// CHECK: asm
void output_operand(long *p) { __asm__("movq $1, %0" : "=m"(*p)); }

// Barriers and instructions that write no memory.
// CHECK-LABEL: define {{.*}}@harmless(
// CHECK-NOT: __snapshot_log
// CHECK: ret
void harmless(void) {
    unsigned a = 0, b, c = 0, d;
    __asm__ volatile("" ::: "memory");
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d)::"memory");
    __asm__ volatile("mfence\n\tpause" ::: "memory");
}

// The annotation goes with the assembly into functions it is inlined into.
__attribute__((annotate("snapshot_asm_ok"), always_inline)) static inline void announced(long *p) {
    __asm__ volatile("movq $1, (%0)" ::"r"(p) : "memory");
}

// CHECK-LABEL: define {{.*}}@caller(
// CHECK: asm sideeffect "movq $$1
void caller(long *p) { announced(p); }

#ifdef REFUSED
void refused(long *p) {
    // ERROR: inline_asm.c:[[@LINE+1]]:22: error: inline assembly may write memory that snapshot does not see (in function refused
    __asm__ volatile("movq $1, (%0)" ::"r"(p) : "memory");
}
#endif
