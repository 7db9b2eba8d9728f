#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The guest's version of Linux, compiled here from Debian's source so that it checks itself: KASAN, lockdep and their kin.
#
#   debug-kernel.sh DIR        compile it in DIR/RELEASE and print where its bzImage is; DIR/debug becomes a link to that
#                              folder. What is there already is not compiled again.
#
# Any failure is one sentence on stderr and exit status 2.
set -euo pipefail
export LC_ALL=C TZ=UTC
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() {
    printf 'guest-image/image/debug-kernel.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/image/lib/archive.sh
. "$here/lib/archive.sh"
# shellcheck source=guest-image/image/debian-kernels.sh
. "$here/debian-kernels.sh"

# Of the version that the image's kernel has.
source_package() {
    local kernel
    kernel=$(resolved_kernel)
    sed -E 's/^linux-image-([0-9]+\.[0-9]+)\.[^=]*=(.*)/linux-source-\1=\2/' <<<"$kernel"
}

configure() { # TREE
    local line
    make -s -C "$1" KCONFIG_ALLCONFIG="$here/debug-kernel.config" allnoconfig >/dev/null
    while read -r line; do
        grep -qx "$line" "$1/.config" || die "this version of Linux takes no $line any more: correct guest-image/image/debug-kernel.config"
    done < <(grep '^CONFIG' "$here/debug-kernel.config")
}

[[ $# == 1 ]] || die "usage: debug-kernel.sh DIR"
for tool in flex bison bc; do command -v "$tool" >/dev/null || die "no $tool is installed, which compiling Linux takes: install the package $tool"; done
[[ -e /usr/include/libelf.h ]] || die "no libelf.h is installed, which compiling Linux takes: install the package libelf-dev"
refresh_lists || exit 2 # it has said why
mkdir -p "$1" || die "$1 cannot be made"
package=$(source_package)
tree=$1/${package/=/-}
if [[ ! -e $tree/arch/x86/boot/bzImage ]]; then
    work=$(mktemp -d "$1/unpacking.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    unpack_exactly "$work/root" "$work" "$package"
    mkdir "$work/tree"
    tar -x --strip-components 1 -C "$work/tree" -f "$work"/root/usr/src/linux-source-*.tar.xz
    configure "$work/tree"
    rm -rf "$tree"
    mv "$work/tree" "$tree"
    make -C "$tree" --jobs="$(nproc)" KBUILD_BUILD_TIMESTAMP=0 bzImage modules >"$tree/build.log" 2>&1 ||
        die "$package does not compile: $tree/build.log has why"
fi
ln -sfn "$(basename "$tree")" "$1/debug"
echo "$tree/arch/x86/boot/bzImage"
