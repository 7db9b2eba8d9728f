#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Build and run the native C and C++ tests: the timing model, the model of a power cut, the file system, the journal of fams, filework, kyoto-server,
# Memcached, pages-fams, stl-map, and snapshot-lib with its pass, or the parts that are named; with --build first, build them only. Sanitizers
# are on, but for the explorers of crash states of file system and journal. The coverage of the model by its tests is counted:
# tests/coverage.sh
# JOBS: how many tests run at a time (default: one for each core)
set -euo pipefail
cd "$(dirname "$0")/.."
parts=(qemu-patches/model tests/rigs/power_cut guest-image/modules/tbfs guest-image/modules/fams experiments/workloads/{filework,kyoto-server,memcached,pages-fams,stl-map} snapshot-lib)
run=1
if [[ ${1:-} == --build ]]; then run=0; shift; fi
for part; do
    [[ " ${parts[*]} " == *" $part "* ]] || { echo "tests/native.sh: no part $part; there are ${parts[*]}" >&2; exit 2; }
done

status=0
for part in "${@:-${parts[@]}}"; do
    build=build/native/$(basename "$part")
    mkdir -p "$build"
    cmake -G Ninja -S "$part" -B "$build" -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 \
        -DCMAKE_C_COMPILER_LAUNCHER="$PWD/tests/ccached.sh" -DCMAKE_CXX_COMPILER_LAUNCHER="$PWD/tests/ccached.sh" \
        >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
    ninja --quiet -C "$build"
    [[ $run == 1 ]] || continue
    rm -f "$build"/*.profraw
    LLVM_PROFILE_FILE="$PWD/$build/%4m.profraw" ctest --test-dir "$build" --parallel "${JOBS:-$(nproc)}" --output-on-failure --no-tests=error || status=$? # the other parts run all the same
done
exit $status
