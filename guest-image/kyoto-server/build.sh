#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The archive of guests that ask for kyoto-server. It is no part of the guest image, whose bytes decide where memory lies, and with
# it every result.
#
#   build.sh inputs | fingerprint          as guest-image/build.sh; the compiler is in the key of buildroot
#   build.sh build OUT_DIR WORK_DIR        make kyoto-server.cpio; wants BUILDROOT_DIR=<product of buildroot>
#
# Any failure is one sentence on stderr and exit status 2.
set -euo pipefail
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1767225600
umask 022

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$repo/guest-image
sources=(guest-image/kyoto-server/{CMakeLists.txt,channel.hpp,database.hpp,kyoto_server.cpp} guest-image/own-archives/on_snapshot_lib.cmake guest-image/programs/include
    snapshot-lib/{CMakeLists.txt,benchmarks,bin,engines,include,pass,programs,runtime,workloads})

die() {
    printf 'guest-image/kyoto-server/build.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/lib/components.sh
. "$here/lib/components.sh"
# shellcheck source=guest-image/own-archives/build_archive.sh
. "$here/own-archives/build_archive.sh"

case ${1-}:$# in
    inputs:1) printf '%s\n' "${sources[@]}" guest-image/kyoto-server/{build,compile}.sh guest-image/lib/{archive,components,enter,program_sources}.sh guest-image/own-archives/build_archive.sh ;;
    fingerprint:1) "$repo/snapshot-lib/programs/sources.sh" fingerprint ;;
    build:3) build_archive kyoto-server "$repo/snapshot-lib/programs/sources.sh" "$2" "$3" ;;
    *) die "usage: build.sh inputs, fingerprint, or build OUT_DIR WORK_DIR" ;;
esac
