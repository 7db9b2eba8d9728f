#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs inside the build root: compile /src/guest-image/memcached and pack its programs into /programs.tar.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin CC=clang-19 CXX=clang++-19
cmake -G Ninja -S /src/guest-image/memcached -B /build -DCMAKE_BUILD_TYPE=Release -DMEMCACHED_TESTS=OFF \
    -DMEMCACHED_SOURCES=/src/program-sources -DTESTBED_ROI_INCLUDE=/src/guest-image/programs/include
ninja -C /build
strip /build/memcached-*
tar -C /build -cf /programs.tar memcached-ycsb memcached-plain memcached-pages memcached-snapshot memcached-bug-late
