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

// The type has all of an array of known length; of others the instruction that has the operand writes no more than that.
// CHECK-LABEL: define {{.*}}@known_array(
// CHECK: @__snapshot_log(ptr {{.*}}, i64 48)
void known_array(char *p) { __asm__("rep stosb" : "=m"(*(char(*)[48])p) : "D"(p), "a"(0), "c"(48)); }
// CHECK-LABEL: define {{.*}}@locked(
// CHECK: @__snapshot_log(ptr {{.*}}, i64 4)
void locked(int *p) { __asm__("lock; xaddl %1, %0" : "+m"(*p) : "r"(1)); }

// On the stack nothing is tracked.
// CHECK-LABEL: define {{.*}}@own_array(
// CHECK-NOT: __snapshot_log
// CHECK: ret
int own_array(unsigned n) {
    int array[n];
    __asm__("rep stosl" : "=m"(array) : "D"(array), "a"(0), "c"(n));
    return array[0];
}

#ifdef REFUSED
struct flexible {
    long count;
    long items[];
};
extern char endless[];
// ERROR: inline_asm.c:[[@LINE+1]]:{{[0-9]+}}: error: a memory output of inline assembly may be an array whose length
void variable(char *p, long n) { __asm__("rep stosb" : "=m"(*(char(*)[n])p) : "D"(p), "a"(0), "c"(n)); }
// ERROR: inline_asm.c:[[@LINE+1]]:{{[0-9]+}}: error: a memory output of inline assembly may be an array whose length
void variable_words(long *p, long n) { __asm__("lea %0, %%rdi; rep stosq" : "=m"(*(long(*)[n])p) : "a"(0), "c"(n)); }
// ERROR: inline_asm.c:[[@LINE+1]]:{{[0-9]+}}: error: a memory output of inline assembly may be an array whose length
void wider(char *p, long n) { __asm__("movq $0, %0" : "=m"(*(char(*)[n])p)); }
// ERROR: inline_asm.c:[[@LINE+1]]:{{[0-9]+}}: error: a memory output of inline assembly may be an array whose length
void incomplete(char (*p)[]) { __asm__("movb $0, %0" : "=m"(*p)); }
// ERROR: inline_asm.c:[[@LINE+1]]:{{[0-9]+}}: error: a memory output of inline assembly may be an array whose length
void member(struct flexible *p) { __asm__("movq $0, %0" : "=m"(p->items)); }
// ERROR: inline_asm.c:[[@LINE+1]]:{{[0-9]+}}: error: a memory output of inline assembly may be an array whose length
void whole(struct flexible *p) { __asm__("movq $0, %0" : "=m"(*p)); }

void refused(long *p) {
    // ERROR: inline_asm.c:[[@LINE+1]]:22: error: inline assembly may write memory that snapshot does not see (in function refused
    __asm__ volatile("movq $1, (%0)" ::"r"(p) : "memory");
}
#endif
