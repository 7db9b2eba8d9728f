#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a compiler through ccache, if it is installed: a second clone need not compile the same sources again.
# Given to cmake as CMAKE_C_COMPILER_LAUNCHER. The cache is that of qemu-patches/build.sh; objects name no clone.
set -euo pipefail
command -v ccache >/dev/null || exec "$@"
CCACHE_BASEDIR=$(cd "$(dirname "$0")/.." && pwd)
export CCACHE_BASEDIR CCACHE_NOHASHDIR=1
export CCACHE_DIR=${TESTBED_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cxl-ssd-testbed}/ccache
# Of a pass plug-in, ccache would look at the name and not at the content.
export CCACHE_IGNOREOPTIONS="-fpass-plugin=*"
for word; do
    if [[ $word == -fpass-plugin=* ]]; then export CCACHE_EXTRAFILES=${word#*=}; fi
done
exec ccache "$@" -ffile-compilation-dir=.
