#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Line coverage of the timing model by its native tests (clang's source-based coverage), a line a file and the whole;
# fails below 95 %. Lines that no test reaches: tests/coverage.sh FOLDER/FILE.c
set -euo pipefail
cd "$(dirname "$0")/.."
model=$PWD/qemu-patches/model
build=build/coverage
least=95
[[ $# -eq 0 || -f $model/$1 ]] || { echo "tests/coverage.sh: there is no $model/$1" >&2; exit 2; }

mkdir -p "$build"
cmake -G Ninja -S "$model" -B "$build" -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 \
    -DCMAKE_C_COMPILER_LAUNCHER="$PWD/tests/ccached.sh" -DCMAKE_CXX_COMPILER_LAUNCHER="$PWD/tests/ccached.sh" \
    -DTESTBED_COVERAGE=ON -DTESTBED_SANITIZE= >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
ninja --quiet -C "$build" model_tests
tests=()
for test in "$build"/test_*; do
    [[ -x $test && -f $test ]] && tests+=("$test")
done
# What ran once need not run again for another question.
if [[ ! -e $build/all.profdata || -n $(find "${tests[@]}" -newer "$build/all.profdata") ]]; then
    rm -f "$build"/*.profraw
    for test in "${tests[@]}"; do
        LLVM_PROFILE_FILE=$test.profraw "$test" >"$test.log" 2>&1 || { cat "$test.log" >&2; exit 1; }
    done
    llvm-profdata-19 merge -o "$build/all.profdata" "$build"/*.profraw
fi
objects=("${tests[0]}" "${tests[@]/#/-object=}")
covered() {
    llvm-cov-19 "$1" -compilation-dir="$PWD/$build" -instr-profile="$build/all.profdata" "${objects[@]}" "${@:2}"
}
if [[ $# -gt 0 ]]; then
    lines=$(covered show --show-line-counts-or-regions=false "$model/$1")
    grep -E '^ +[0-9]+\| +0\|' <<<"$lines" || echo "$1: every line"
    exit
fi
covered report -ignore-filename-regex="$model/tests/|/usr/" -show-region-summary=false -show-branch-summary=false 2>/dev/null |
    awk -v least=$least '
        $NF !~ /%$/ { next }
        { percent = $NF; sub("%", "", percent); printf "%-28s %s\n", $1, $NF }
        $1 == "TOTAL" { exit percent < least }'
