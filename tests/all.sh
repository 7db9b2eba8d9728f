#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every check: style first, then the model, then all else. The other native tests run beside those of Python, which wait
# for guests and hosts now and then; their output is printed before the tests of Python that failed.
set -euo pipefail
cd "$(dirname "$0")/.."
said=build/native/beside.log
python_said=build/native/python.log

stage() { echo "== $1, $((SECONDS / 60)) minutes after the start"; }

tests/lint.sh
stage "native builds"
tests/native.sh --build # some tests of Python start these programs
stage "tests of the model"
tests/native.sh qemu-patches/model # and one asks for the coverage of these
stage "QEMU and the guest image"
.venv/bin/python -m testbed build
stage "tests of Python, and the other native tests beside them"

set -m # a group of its own, which ends with this script
JOBS=1 tests/native.sh tests/rigs/power_cut guest-image/modules/tbfs guest-image/modules/fams experiments/workloads/{filework,kyoto-server,memcached,pages-fams,stl-map} snapshot-lib >"$said" 2>&1 &
set +m
beside=$!
trap 'kill -- -$beside 2>/dev/null || true' EXIT

status=0
# The native tests run one at a time, so they get a core for themselves: else they would be the last, and a core idle.
nice -n 5 tests/python.sh | tee "$python_said" || status=$?
[ $status != 2 ] || exit 2 # Ctrl-C, or no test could be read
stage "waiting for the native tests"
wait $beside || status=$?
cat "$said"
stage "the end"
grep -E '^(FAILED|ERROR) |^=+ .* in [0-9.]+s' "$python_said" || true # last, so that the end of a log names the failures
exit $status
