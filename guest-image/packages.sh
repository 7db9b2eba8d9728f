#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Debian 13 packages that one run adds to the guest: unpacked with what they depend on, to be laid over base.cpio.
#
#   packages.sh resolve NAME...                     "NAME=VERSION" of these and of all they depend on
#   packages.sh inputs LIST                         files of this repository that go into the component's key
#   packages.sh fingerprint LIST                    LIST: what `resolve` said, joined by commas
#   packages.sh build LIST OUT_DIR WORK_DIR         make packages.cpio
#
# Any failure is one sentence on stderr and exit status 2. No maintainer script runs: no user, no service is set up.
set -euo pipefail
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1767225600
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() {
    printf 'guest-image/packages.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/lib/archive.sh
. "$here/lib/archive.sh"
# shellcheck source=guest-image/lib/components.sh
. "$here/lib/components.sh"

resolve() { # NAME...
    local simulated
    refresh_lists || exit 2 # it has said why
    simulated=$(private_apt apt-get install --simulate -qq "$@" 2>&1) ||
        die "Debian 13 has no such packages ($*): $(sed -n 's/^E: //p' <<<"$simulated" | head -n 1)"
    sed -nE 's/^Inst ([^ ]+) \(([^ ]+) .*/\1=\2/p' <<<"$simulated" | sort
}

# Through links for what Debian once kept in /bin, /lib and so on, as the base has them.
unpack() { # ROOT DEB...
    local root=$1 name deb
    shift
    mkdir -p "$root"/usr/{bin,sbin,lib,lib64}
    for name in bin sbin lib lib64; do ln -s "usr/$name" "$root/$name"; done
    for deb in "$@"; do
        dpkg-deb --fsys-tarfile "$deb" | tar -C "$root" -x --no-same-owner --same-permissions --keep-directory-symlink \
            --exclude='./usr/share/doc' --exclude='./usr/share/man' --exclude='./usr/share/info' \
            --exclude='./usr/share/locale' --exclude='./usr/share/lintian' --exclude='./usr/lib/x86_64-linux-gnu/gconv'
    done
    rm "$root"/{bin,sbin,lib,lib64}
}

build() { # LIST OUT WORK
    local out=$2 work=$3 packages
    IFS=, read -ra packages <<<"$1"
    refresh_lists || exit 2
    mkdir -p "$work/debs"
    (cd "$work/debs" && private_apt apt-get download -qq "${packages[@]}") || {
        forget_lists
        die "Debian's archive has not all of $1 any more, or cannot be reached: check the network and run again"
    }
    unpack "$work/root" "$work"/debs/*.deb
    pack_cpio "$work/root" "$out/packages.cpio"
    truncate -s %512 "$out/packages.cpio" # archives follow each other at such boundaries
}

case ${1-}:$# in
    resolve:[2-9] | resolve:[1-9][0-9]) resolve "${@:2}" ;;
    inputs:2) printf '%s\n' guest-image/packages.sh guest-image/lib ;;
    fingerprint:2) printf '%s\n' "$2" ;;
    build:4) build "$2" "$3" "$4" ;;
    *) die "usage: packages.sh resolve NAME..., or inputs|fingerprint LIST, or build LIST OUT_DIR WORK_DIR" ;;
esac
