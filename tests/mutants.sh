#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Mutate the persistence calls and locks of a subject, one at a time, and run its tests on each mutant: --help
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHONPATH=tests exec .venv/bin/python -m mutants "$@"
