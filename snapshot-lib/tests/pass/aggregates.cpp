// SPDX-License-Identifier: BSD-3-Clause
// RUN: %snapcxx -O0 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %snapcxx -O1 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %snapcxx -O2 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %snapcxx -O3 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %snapcxx -O2 -fPIC -S -emit-llvm -o - %s | FileCheck --check-prefix=SHARED %s

// Code for a shared library asks the loader for the variables, other code knows where they are.
// CHECK: @__snapshot_base = external dso_local global i64
// SHARED: @__snapshot_base = external global i64

struct Wide {
    long words[9];
};

// The result is stored through a hidden pointer of the caller's.
// CHECK-LABEL: define {{.*}}@_Z4makel(
// CHECK: @__snapshot_log(ptr {{.*}}, i64
Wide make(long seed) { return {{seed, seed + 1, seed + 2}}; }

// The parameter is a copy on the stack.
// CHECK-LABEL: define {{.*}}@_Z4take4Wide(
// CHECK-NOT: __snapshot_log
// CHECK: ret
long take(Wide wide) {
    wide.words[2] = 1;
    return wide.words[1];
}

// CHECK-LABEL: define {{.*}}@_Z4copyR4WideRKS_(
// CHECK: @__snapshot_log(ptr {{.*}}, i64 72)
void copy(Wide &to, const Wide &from) { to = from; }

// CHECK-LABEL: define {{.*}}@_Z8throwingRl(
// CHECK: @__snapshot_log(ptr {{.*}}, i64 8)
void throwing(long &value) {
    try {
        throw 1;
    } catch (int) {
        value = 2;
    }
}
