#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs inside the build root: compile /src/guest-image/cores into /calibrate-cores and /bench-cores.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin CC=clang-19
cmake -G Ninja -S /src/guest-image/cores -B /build -DCMAKE_BUILD_TYPE=Release
ninja -C /build
cp /build/{calibrate,bench}-cores /
