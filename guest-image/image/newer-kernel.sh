#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Debian's newest kernel for a guest of Debian 13, of its backports, with its modules and its configuration.
#
#   newer-kernel.sh DIR        unpack it into DIR/RELEASE, as lib/modules/RELEASE, and print where its vmlinuz is;
#                              DIR/newest becomes a link to that folder
#
# Any failure is one sentence on stderr and exit status 2.
set -euo pipefail
export LC_ALL=C TZ=UTC
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
flavour=cloud-amd64 # as resolved_kernel

die() {
    printf 'guest-image/image/newer-kernel.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/image/lib/archive.sh
. "$here/lib/archive.sh"
# shellcheck source=guest-image/image/debian-kernels.sh
. "$here/debian-kernels.sh"

# The newest image is a package of its own, or since Linux 7 several: the image, the modules, the configuration.
packages() {
    local version image
    version=$(private_apt apt-cache madison "linux-image-$flavour" | awk '{ print $3 }' | sort -V | tail -n 1)
    [[ -n $version ]] || die "the backports of Debian 13 have no linux-image-$flavour now: use the guest's own kernel"
    image=$(dependencies "linux-image-$flavour" "$version" | grep -E '^linux-image-[0-9]') ||
        die "linux-image-$flavour $version of Debian's backports names no image: use the guest's own kernel"
    for name in "$image" $(dependencies "$image" "$version" | grep -E "^linux-(binary|modules|base)-[0-9].*-$flavour\$"); do
        printf '%s=%s\n' "$name" "$version"
    done
}

[[ $# == 1 ]] || die "usage: newer-kernel.sh DIR"
use_backports
refresh_lists || exit 2 # it has said why
mkdir -p "$1" || die "$1 cannot be made"
work=$(mktemp -d "$1/unpacking.XXXXXX")
trap 'rm -rf "$work"' EXIT
mapfile -t found < <(packages)
((${#found[@]})) || exit 2 # it has said why
unpack_exactly "$work/root" "$work" "${found[@]}"
release=$(basename "$work"/root/usr/lib/modules/*)
kernel=$work/root/usr/lib/modules/$release
for name in vmlinuz config; do
    [[ -e $kernel/$name ]] || mv "$work/root/boot/$name-$release" "$kernel/$name"
done
/sbin/depmod -b "$work/root/usr" "$release" 2>/dev/null || /sbin/depmod -b "$work/root" "$release"
rm -rf "${1:?}/$release"
mv "$kernel" "$1/"
ln -sfn "$release" "$1/newest"
echo "$1/$release/vmlinuz"
