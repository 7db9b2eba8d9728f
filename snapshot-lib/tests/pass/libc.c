// SPDX-License-Identifier: BSD-3-Clause
// RUN: %snapclang -O0 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %snapclang -O1 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %snapclang -O2 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %snapclang -O2 -D_FORTIFY_SOURCE=2 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %snapclang -O3 -S -emit-llvm -o - %s | FileCheck %s
#include <string.h>
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
