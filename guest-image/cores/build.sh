#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds calibrate-cores and bench-cores, by the compiler of the guest's software. They are sent along with the runs that
# need them and are no part of the guest image: what the image holds decides where memory lies, and with it every result.
#
#   build.sh inputs | fingerprint          as guest-image/build.sh; the compiler is in the key of buildroot
#   build.sh build OUT_DIR WORK_DIR        make them; wants BUILDROOT_DIR=<product of buildroot>
#
# Any failure is one sentence on stderr and exit status 2.
set -euo pipefail
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1767225600

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
sources=(guest-image/cores guest-image/programs)

die() {
    printf 'guest-image/cores/build.sh: %s\n' "$*" >&2
    exit 2
}

build() { # OUT_DIR WORK_DIR
    [[ -r ${BUILDROOT_DIR-}/buildroot.tar ]] || die "set BUILDROOT_DIR to the product of \`guest-image/build.sh build buildroot\`"
    tar -C "$repo" -cf "$2/source.tar" "${sources[@]}"
    # mmdebstrap enters the unpacked build root, as for the guest's software.
    mmdebstrap --variant=custom --architectures=amd64 --format=null --skip=setup,update,cleanup,check/empty \
        --setup-hook="tar-in '$BUILDROOT_DIR/buildroot.tar' /" \
        --customize-hook="mkdir \"\$1/src\"" --customize-hook="tar-in '$2/source.tar' /src" \
        --customize-hook="upload '$repo/guest-image/cores/compile.sh' /compile.sh" \
        --customize-hook="upload '$repo/guest-image/lib/enter.sh' /enter.sh" \
        --customize-hook="unshare --mount /bin/bash \"\$1/enter.sh\" \"\$1\"" \
        --customize-hook="download /calibrate-cores '$1/calibrate-cores'" \
        --customize-hook="download /bench-cores '$1/bench-cores'" trixie /dev/null ||
        die "the programs of many cores cannot be built: see the messages above"
    chmod +x "$1"/{calibrate,bench}-cores
}

case ${1-}:$# in
    inputs:1) printf '%s\n' "${sources[@]}" guest-image/lib/enter.sh ;;
    fingerprint:1) ;;
    build:3) build "$2" "$3" ;;
    *) die "usage: build.sh inputs, fingerprint, or build OUT_DIR WORK_DIR" ;;
esac
