// SPDX-License-Identifier: BSD-3-Clause
// RUN: %snapclang -O0 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %snapclang -O1 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %snapclang -O2 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %snapclang -O2 -D_FORTIFY_SOURCE=2 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %snapclang -O3 -S -emit-llvm -o - %s | FileCheck %s
// RUN: not %snapclang -O0 -gline-tables-only -DREFUSED -c -o /dev/null %s 2>&1 | FileCheck --check-prefix=ERROR %s
// RUN: not %snapclang -O2 -gline-tables-only -DREFUSED -c -o /dev/null %s 2>&1 | FileCheck --check-prefix=ERROR %s
#define _GNU_SOURCE
#include <aio.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// CHECK-LABEL: define {{.*}}@writers(
// CHECK: call {{.*}}@__snapshot_libc_{{(__)?}}strcpy
// CHECK: call {{.*}}@__snapshot_libc_{{(__)?}}read
void writers(char *p, const char *q) {
    strcpy(p, q);
    if (read(0, p, strlen(q)) < 0)
        p[0] = 0;
}

// CHECK-LABEL: define {{.*}}@through_pointer(
// CHECK: ret ptr @__snapshot_libc_strcat
char *(*through_pointer(void))(char *, const char *) { return strcat; }

// A function of the program's own is instrumented itself, whatever its name.
// CHECK-LABEL: define {{.*}}@own_stpcpy(
// CHECK-NOT: __snapshot_libc
// CHECK: ret
static __attribute__((noinline)) void fgets_like(char *p) { *p = 1; }
void own_stpcpy(char *p) { fgets_like(p); }

// It returns again later, so the pass itself announces the buffer.
// CHECK-LABEL: define {{.*}}@context(
// CHECK: @__snapshot_log(ptr {{.*}}, i64 968)
// CHECK: @getcontext
int context(ucontext_t *to) { return getcontext(to); }

// The pass refuses a write that it cannot follow only if it may be in tracked memory and nobody vouches for it.
// CHECK-LABEL: define {{.*}}@not_refused(
// CHECK: ret
__attribute__((annotate("snapshot_asm_ok"))) static void buffer_of(FILE *stream, char *p) { setvbuf(stream, p, 0, 9); }
long not_refused(FILE *stream, char *p, int *lock) {
    static char own[99];
    char buffer[64];
    setvbuf(stream, own, _IOFBF, sizeof(own));
    setvbuf(stream, NULL, _IONBF, 0);
    buffer_of(stream, p);
    return syscall(SYS_futex, lock, 1, 1) + syscall(SYS_getrandom, buffer, sizeof(buffer), 0);
}

#ifdef REFUSED
void refused(FILE *stream, char *p, struct aiocb *block) {
    // ERROR: libc.c:[[@LINE+1]]:{{[0-9]+}}: error: setvbuf() keeps the buffer, and writes to it in later calls (in function refused
    setvbuf(stream, p, _IOFBF, 100);
    // ERROR: libc.c:[[@LINE+1]]:{{[0-9]+}}: error: aio_read() writes when it has returned
    aio_read(block);
    // ERROR: libc.c:[[@LINE+1]]:{{[0-9]+}}: error: syscall() may be any system call
    syscall(SYS_read, 0, p, 100);
}
#endif
