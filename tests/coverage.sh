#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Line coverage of the timing model by its native tests (clang's source-based coverage), a line a file and the whole;
# fails below 95 %. Lines that no test reaches: tests/coverage.sh FOLDER/FILE.c
set -euo pipefail
cd "$(dirname "$0")/.."
model=$PWD/qemu-patches/model
build=build/native/model
least=95
[[ $# -eq 0 || -f $model/$1 ]] || { echo "tests/coverage.sh: there is no $model/$1" >&2; exit 2; }

# The counts of the native tests are reused, unless something was changed since.
if [[ -f $build/build.ninja ]]; then ninja --quiet -C "$build"; fi
last=$(find "$build" -maxdepth 1 \( -name 'test_*' -o -name '*.profraw' \) -type f -printf '%T@ %f\n' 2>/dev/null | sort -n | tail -n 1)
[[ $last == *.profraw ]] || tests/native.sh qemu-patches/model >&2
llvm-profdata-19 merge -o "$build/all.profdata" "$build"/*.profraw
mapfile -t tests < <(sed "s|^|$build/|" "$build/counted_tests")
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
