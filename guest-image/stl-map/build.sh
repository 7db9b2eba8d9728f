#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The archive of guests that ask for stl-map. It is no part of the guest image, whose bytes decide where memory lies, and with it
# every result. Its build root is that of the guest's software with the packages of guest-image/packages/stl-map laid over it.
#
#   build.sh inputs | fingerprint          as guest-image/build.sh; the compiler is in the key of buildroot
#   build.sh build OUT_DIR WORK_DIR        make stl-map.cpio; wants BUILDROOT_DIR=<product of buildroot>
#
# Any failure is one sentence on stderr and exit status 2.
set -euo pipefail
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1767225600
umask 022

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$repo/guest-image
sources=(guest-image/stl-map/{CMakeLists.txt,heap_allocator.hpp,kyoto_map_store.hpp,leveldb_store.hpp,map_store.hpp,persistent_heap.hpp,sqlite_store.hpp,stl_map.cpp}
    guest-image/own-archives/on_snapshot_lib.cmake guest-image/programs/include snapshot-lib/{CMakeLists.txt,benchmarks,bin,engines,include,pass,programs,runtime,workloads})

die() {
    printf 'guest-image/stl-map/build.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/lib/archive.sh
. "$here/lib/archive.sh"
# shellcheck source=guest-image/lib/components.sh
. "$here/lib/components.sh"
# shellcheck source=guest-image/own-archives/build_archive.sh
. "$here/own-archives/build_archive.sh"

# "name=version" of the listed packages alone: what they depend on is in the build root, or in no need of being linked.
libraries() {
    resolved stl-map | grep -E "^($(listed stl-map | paste -sd '|'))="
}

lay_over() { # WORK: /over.tar, all files of the libraries
    mkdir -p "$1/debs" "$1/over"
    mapfile -t packages < <(libraries)
    (cd "$1/debs" && private_apt apt-get download -qq "${packages[@]}") || {
        forget_lists
        die "Debian's archive has not all of ${packages[*]} any more, or cannot be reached: check the network and run again"
    }
    for deb in "$1"/debs/*.deb; do dpkg-deb -x "$deb" "$1/over"; done
    tar -C "$1/over" -cf "$1/over.tar" usr/include usr/lib
}

build() { # OUT_DIR WORK_DIR
    lay_over "$2"
    build_archive stl-map "$repo/snapshot-lib/programs/sources.sh" "$1" "$2" "$2/over.tar"
}

case ${1-}:$# in
    inputs:1) printf '%s\n' "${sources[@]}" guest-image/stl-map/{build,compile}.sh guest-image/packages/stl-map guest-image/lib/{archive,components,enter,program_sources}.sh guest-image/own-archives/build_archive.sh ;;
    fingerprint:1) libraries && "$repo/snapshot-lib/programs/sources.sh" fingerprint ;;
    build:3) build "$2" "$3" ;;
    *) die "usage: build.sh inputs, fingerprint, or build OUT_DIR WORK_DIR" ;;
esac
