#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs inside the build root: compile stl-map and the programs of its engines, and pack them into /programs.tar.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin CC=clang-19 CXX=clang++-19
cmake -G Ninja -S /src/guest-image/stl-map -B /build -DCMAKE_BUILD_TYPE=Release -DSTL_MAP_TESTS=OFF \
    -DPROGRAM_SOURCES=/src/program-sources
ninja -C /build
tar -C /build -cf /programs.tar stl-map stl-map-{snapshot,fams-uffd,kyoto,sqlite,leveldb}
