#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs inside the build root: compile /src/guest-image/filework into /filework and /overwrites.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin CXX=clang++-19
cmake -G Ninja -S /src/guest-image/filework -B /build -DCMAKE_BUILD_TYPE=Release -DFILEWORK_TESTS=OFF
ninja -C /build
cp /build/{filework,overwrites} /
