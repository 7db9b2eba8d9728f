#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Build and run the native C and C++ tests: the timing model, the file system, and snapshot-lib with its pass. Sanitizers
# are on, but for the file system's explorer of crash states.
set -euo pipefail
cd "$(dirname "$0")/.."

for part in qemu-patches/model guest-image/tbfs snapshot-lib; do
    build=build/native/$(basename "$part")
    mkdir -p "$build"
    cmake -G Ninja -S "$part" -B "$build" -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 \
        -DCMAKE_C_COMPILER_LAUNCHER="$PWD/tests/ccached.sh" -DCMAKE_CXX_COMPILER_LAUNCHER="$PWD/tests/ccached.sh" \
        >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
    ninja --quiet -C "$build"
    ctest --test-dir "$build" --parallel "$(nproc)" --output-on-failure --no-tests=error
done
