#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The archive of a guest that has a tbfs: the module, for the guest's kernel, and the tool. It is no part of the guest image, whose
# bytes decide where memory lies, and with it every result.
#
#   build.sh inputs | fingerprint          as guest-image/build.sh; the compilers are in the keys of what it is made with
#   build.sh build OUT_DIR WORK_DIR        make tbfs.cpio; wants BUILDROOT_DIR and MODULE_ROOT_DIR, the products of these names
#
# Any failure is one sentence on stderr and exit status 2.
set -euo pipefail
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1767225600
umask 022

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$repo/guest-image
sources=(guest-image/tbfs/{Kbuild,core,module,tools})

die() {
    printf 'guest-image/tbfs/build.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/lib/components.sh
. "$here/lib/components.sh"

compile_module() { # WORK
    tar -C "$repo" -cf - "${sources[@]}" | tar -C "$1" -xf -
    "$here/module-root/compile.sh" "$MODULE_ROOT_DIR" "$1/guest-image/tbfs" || die "the module cannot be compiled: see the messages above"
}

# mmdebstrap enters the unpacked build root, as for the guest's software.
compile_tool() { # WORK
    tar -C "$repo" -cf "$1/source.tar" "${sources[@]}"
    mmdebstrap --variant=custom --architectures=amd64 --format=null --skip=setup,update,cleanup,check/empty \
        --setup-hook="tar-in '$BUILDROOT_DIR/buildroot.tar' /" \
        --customize-hook="mkdir \"\$1/src\"" --customize-hook="tar-in '$1/source.tar' /src" \
        --customize-hook="upload '$here/tbfs/compile.sh' /compile.sh" \
        --customize-hook="upload '$here/lib/enter.sh' /enter.sh" \
        --customize-hook="unshare --mount /bin/bash \"\$1/enter.sh\" \"\$1\"" \
        --customize-hook="download /tbfs '$1/tbfs'" trixie /dev/null || die "the tool cannot be compiled: see the messages above"
}

build() { # OUT_DIR WORK_DIR
    [[ -r ${BUILDROOT_DIR-}/buildroot.tar ]] || die "set BUILDROOT_DIR to the product of \`guest-image/build.sh build buildroot\`"
    [[ -r ${MODULE_ROOT_DIR-}/kernel-release ]] || die "set MODULE_ROOT_DIR to the product of \`guest-image/module-root/build.sh build\`"
    compile_module "$2"
    compile_tool "$2"
    install -D --mode=644 "$2/guest-image/tbfs/tbfs.ko" "$2/root/usr/lib/tbfs/tbfs.ko"
    install -D --mode=755 "$2/tbfs" "$2/root/usr/sbin/tbfs"
    pack_cpio "$2/root" "$1/tbfs.cpio"
    truncate -s %512 "$1/tbfs.cpio" # archives follow each other at such boundaries
}

case ${1-}:$# in
    inputs:1) printf '%s\n' "${sources[@]}" guest-image/tbfs/{build,compile}.sh guest-image/module-root/compile.sh guest-image/lib/{components,enter}.sh ;;
    fingerprint:1) ;;
    build:3) build "$2" "$3" ;;
    *) die "usage: build.sh inputs, fingerprint, or build OUT_DIR WORK_DIR" ;;
esac
