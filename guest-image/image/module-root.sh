#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The root in which kernel modules are compiled: the headers of the guest's kernel, and the compiler that has made it.
#
#   module-root.sh inputs | fingerprint    as build.sh; "NAME=VERSION" of all that is in the root
#   module-root.sh build OUT_DIR WORK_DIR  make OUT_DIR/root and OUT_DIR/kernel-release
#
# Any failure is one sentence on stderr and exit status 2.
set -euo pipefail
export LC_ALL=C TZ=UTC
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
flavour=cloud-amd64 # as resolved_kernel

die() {
    printf 'guest-image/image/module-root.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/image/lib/archive.sh
. "$here/lib/archive.sh"
# shellcheck source=guest-image/image/lib/components.sh
. "$here/lib/components.sh"

# Of the kernel that the image gets from the same package lists. The headers come without their dependencies, which include that kernel.
fingerprint() {
    local kernel release names
    refresh_lists || exit 2 # it has said why
    kernel=$(resolved_kernel)
    release=${kernel#linux-image-} release=${release%%=*}
    mapfile -t names < <(listed module-root)
    "$here/packages.sh" resolve "${names[@]}" "linux-kbuild-${release%-"$flavour"}" "linux-headers-${release%-"$flavour"}-common"
    printf 'linux-headers-%s=%s\n' "$release" "${kernel#*=}"
}

build() { # OUT WORK
    local root=$1/root versions name
    versions=$(fingerprint)
    mkdir -p "$root" "$2/packages"
    "$here/packages.sh" build "$(paste -sd, <<<"$versions")" "$2" "$2/packages" || exit 2 # it has said why
    (cd "$root" && cpio --extract --make-directories --preserve-modification-time --quiet) <"$2/packages.cpio"
    for name in bin sbin lib lib64; do ln -s "usr/$name" "$root/$name"; done
    ln -s mawk "$root/usr/bin/awk" # the package leaves this link to its maintainer script
    mount_points "$root" /module
    sed -n "s/^linux-headers-\(.*-$flavour\)=.*/\1/p" <<<"$versions" >"$1/kernel-release"
}

case ${1-}:$# in
    inputs:1) printf '%s\n' guest-image/image/module-root.sh guest-image/image/packages/module-root guest-image/image/packages.sh guest-image/image/lib/{archive,components}.sh ;;
    fingerprint:1) fingerprint ;;
    build:3) build "$2" "$3" ;;
    *) die "usage: module-root.sh inputs, fingerprint, or build OUT_DIR WORK_DIR" ;;
esac
