#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The archive of guests that ask for memcached-ycsb: Memcached with checkpoints, and its client. It is no part of the guest image, whose bytes decide
# where memory lies, and with it every result.
#
#   build.sh inputs | fingerprint          as guest-image/build.sh; the compiler is in the key of buildroot
#   build.sh build OUT_DIR WORK_DIR        make memcached-ycsb.cpio; wants BUILDROOT_DIR=<product of buildroot>
#
# Any failure is one sentence on stderr and exit status 2.
set -euo pipefail
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1767225600
umask 022

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$repo/guest-image
programs=(memcached-ycsb memcached-plain memcached-pages memcached-snapshot memcached-bug-late)
sources=(guest-image/memcached/{CMakeLists.txt,client.hpp,config.h,connection.hpp,memcached_ycsb.cpp,server.cpp,server.hpp,value.hpp}
    guest-image/programs/include snapshot-lib/{CMakeLists.txt,benchmarks,bin,engines,include,pass,runtime,workloads})

die() {
    printf 'guest-image/memcached/build.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/lib/components.sh
. "$here/lib/components.sh"

build() { # OUT_DIR WORK_DIR
    [[ -r ${BUILDROOT_DIR-}/buildroot.tar ]] || die "set BUILDROOT_DIR to the product of \`guest-image/build.sh build buildroot\`"
    "$here/memcached/sources.sh" prepare "$2/program-sources" || die "the sources of Memcached and libevent cannot be had: see the message above"
    tar -C "$repo" -cf "$2/source.tar" --owner=0 --group=0 --mtime="@$SOURCE_DATE_EPOCH" --sort=name "${sources[@]}" -C "$2" program-sources
    mmdebstrap --variant=custom --architectures=amd64 --format=null --skip=setup,update,cleanup,check/empty \
        --setup-hook="tar-in '$BUILDROOT_DIR/buildroot.tar' /" \
        --customize-hook="mkdir \"\$1/src\"" --customize-hook="tar-in '$2/source.tar' /src" \
        --customize-hook="upload '$here/memcached/compile.sh' /compile.sh" \
        --customize-hook="upload '$here/lib/enter.sh' /enter.sh" \
        --customize-hook="unshare --mount /bin/bash \"\$1/enter.sh\" \"\$1\"" \
        --customize-hook="download /programs.tar '$2/programs.tar'" trixie /dev/null || die "the programs cannot be compiled: see the messages above"
    mkdir -p "$2/root/usr/local/bin"
    tar -C "$2/root/usr/local/bin" -xf "$2/programs.tar" --no-same-owner "${programs[@]}"
    pack_cpio "$2/root" "$1/memcached-ycsb.cpio"
    truncate -s %512 "$1/memcached-ycsb.cpio" # archives follow each other at such boundaries
}

case ${1-}:$# in
    inputs:1) printf '%s\n' "${sources[@]}" guest-image/memcached/{patches,build.sh,compile.sh,sources.sh} guest-image/lib/{archive,components,enter}.sh ;;
    fingerprint:1) "$here/memcached/sources.sh" fingerprint ;;
    build:3) build "$2" "$3" ;;
    *) die "usage: build.sh inputs, fingerprint, or build OUT_DIR WORK_DIR" ;;
esac
