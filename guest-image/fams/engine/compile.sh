#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs inside the build root: compile /src/guest-image/fams/engine into /pages-fams.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin CXX=clang++-19
cmake -G Ninja -S /src/guest-image/fams/engine -B /build -DCMAKE_BUILD_TYPE=Release
ninja -C /build
cp /build/pages-fams /
