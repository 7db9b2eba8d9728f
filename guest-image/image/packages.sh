#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Debian 13 packages that one run adds to the guest: unpacked with their dependencies, to be laid over base.cpio.
#
#   packages.sh resolve NAME...                     "NAME=VERSION" of these and of all they depend on
#   packages.sh inputs LIST                         files of this repository that go into the component's key
#   packages.sh fingerprint LIST                    LIST: the output of `resolve`, joined by commas
#   packages.sh build LIST OUT_DIR WORK_DIR         make packages.cpio
#
# Any failure is one sentence on stderr and exit status 2. No maintainer script runs: no user, no service is set up.
set -euo pipefail
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1767225600
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() {
    printf 'guest-image/image/packages.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/image/lib/archive.sh
. "$here/lib/archive.sh"
# shellcheck source=guest-image/image/lib/components.sh
. "$here/lib/components.sh"

build() { # LIST OUT WORK
    local out=$2 work=$3 packages
    IFS=, read -ra packages <<<"$1"
    refresh_lists || exit 2
    mkdir -p "$work/debs"
    (cd "$work/debs" && private_apt apt-get download -qq "${packages[@]}") || {
        forget_lists
        die "Debian's archive has not all of $1 any more, or cannot be reached: check the network and run again"
    }
    unpack_debs "$work/root" "$work"/debs/*.deb
    pack_cpio "$work/root" "$out/packages.cpio"
    truncate -s %512 "$out/packages.cpio" # archives follow each other at such boundaries
}

case ${1-}:$# in
    resolve:[2-9] | resolve:[1-9][0-9]) resolved_names "${@:2}" ;;
    inputs:2) printf '%s\n' guest-image/image/packages.sh guest-image/image/lib/{archive,components}.sh ;;
    fingerprint:2) printf '%s\n' "$2" ;;
    build:4) build "$2" "$3" "$4" ;;
    *) die "usage: packages.sh resolve NAME..., or inputs|fingerprint LIST, or build LIST OUT_DIR WORK_DIR" ;;
esac
