#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The archive of guests that ask for filework: that, and overwrites. It is no part of the guest image, whose bytes decide where memory lies, and with it
# every result.
#
#   build.sh inputs | fingerprint          as guest-image/build.sh; the compiler is in the key of buildroot
#   build.sh build OUT_DIR WORK_DIR        make filework.cpio; wants BUILDROOT_DIR=<product of buildroot>
#
# Any failure is one sentence on stderr and exit status 2.
set -euo pipefail
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1767225600
umask 022

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$repo/guest-image
sources=(guest-image/filework/{CMakeLists.txt,file_set.hpp,filework.cpp,flow.hpp,folder.hpp,overwrites.cpp,overwritten.hpp} guest-image/programs/include
    snapshot-lib/workloads/{clock.hpp,latency.hpp,options.cpp,options.hpp,random.hpp,report.cpp,report.hpp} snapshot-lib/workloads/threaded/{crew,together}.hpp)

die() {
    printf 'guest-image/filework/build.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/lib/components.sh
. "$here/lib/components.sh"

build() { # OUT_DIR WORK_DIR
    [[ -r ${BUILDROOT_DIR-}/buildroot.tar ]] || die "set BUILDROOT_DIR to the product of \`guest-image/build.sh build buildroot\`"
    tar -C "$repo" -cf "$2/source.tar" "${sources[@]}"
    mmdebstrap --variant=custom --architectures=amd64 --format=null --skip=setup,update,cleanup,check/empty \
        --setup-hook="tar-in '$BUILDROOT_DIR/buildroot.tar' /" \
        --customize-hook="mkdir \"\$1/src\"" --customize-hook="tar-in '$2/source.tar' /src" \
        --customize-hook="upload '$here/filework/compile.sh' /compile.sh" \
        --customize-hook="upload '$here/lib/enter.sh' /enter.sh" \
        --customize-hook="unshare --mount /bin/bash \"\$1/enter.sh\" \"\$1\"" \
        --customize-hook="download /filework '$2/filework'" --customize-hook="download /overwrites '$2/overwrites'" trixie /dev/null || die "the programs cannot be compiled: see the messages above"
    install -D --mode=755 --target-directory="$2/root/usr/local/bin" "$2"/{filework,overwrites}
    pack_cpio "$2/root" "$1/filework.cpio"
    truncate -s %512 "$1/filework.cpio" # archives follow each other at such boundaries
}

case ${1-}:$# in
    inputs:1) printf '%s\n' "${sources[@]}" guest-image/filework/{build,compile}.sh guest-image/lib/{components,enter}.sh ;;
    fingerprint:1) ;;
    build:3) build "$2" "$3" ;;
    *) die "usage: build.sh inputs, fingerprint, or build OUT_DIR WORK_DIR" ;;
esac
