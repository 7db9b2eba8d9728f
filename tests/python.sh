#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The Python tests, guests included, several files of them at a time, then those that nothing may run beside.
set -euo pipefail
cd "$(dirname "$0")/.."
worker_mib=4096 # two guests with their media, and the test's own memory
python=.venv/bin/python

free_mib=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)
# The socket of a guest in a test's folder has a path of less than 108 bytes.
scratch=$(mktemp -d "${TMPDIR:-/tmp}/tests.XXXX")
wanted=$(($(nproc) + 1)) fit=$((free_mib / worker_mib)) # one more than cores: some wait for a host or a time
workers=$((fit < 1 ? 1 : fit < wanted ? fit : wanted))
status=0
$python -m pytest -m "not alone and not by_hand" --basetemp "$scratch/t" --numprocesses "$workers" --dist loadfile --no-loadscope-reorder --durations 25 "$@" || status=$?
[ $status != 2 ] || exit 2 # Ctrl-C, or no test could be read
[ $# != 0 ] || $python -m pytest -m alone || status=$?
[ $status != 0 ] || rm -r "$scratch" # otherwise the failures can be inspected
exit $status
