// SPDX-License-Identifier: BSD-3-Clause
// RUN: not %snapclang -O0 -c -o /dev/null %s 2>&1 | FileCheck %s
// RUN: not %snapclang -O2 -c -o /dev/null %s 2>&1 | FileCheck %s
// RUN: %snapclang -O2 -DANNOTATED -c -o /dev/null %s

#ifndef ANNOTATED
// CHECK: error: {{.*}}refused_naked.c: top-level assembly with instructions may write memory
__asm__(".globl top_level\ntop_level:\n\tmovl $1, (%rdi)\n\tret");
#define annotated
#else
__asm__(".globl alias\n.set alias, naked");
#define annotated __attribute__((annotate("snapshot_asm_ok")))
#endif

// CHECK: refused_naked.c:[[@LINE+2]]:{{[0-9]+}}: error: the assembly of a naked function may write memory
__attribute__((naked)) annotated void naked(long *p) {
    __asm__("movl $1, (%rdi)\n\tret");
}
