#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The root in which modules for another of Debian's kernels are compiled: module-root's, with the headers of that kernel.
#
#   kernel-headers.sh RELEASE VERSION MODULE_ROOT OUT_DIR WORK_DIR
#                       make OUT_DIR/root and OUT_DIR/kernel-release, as module-root.sh does; MODULE_ROOT is its product
#
# Any failure is one sentence on stderr and exit status 2.
set -euo pipefail
export LC_ALL=C TZ=UTC
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() {
    printf 'guest-image/image/kernel-headers.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/image/lib/archive.sh
. "$here/lib/archive.sh"
# shellcheck source=guest-image/image/debian-kernels.sh
. "$here/debian-kernels.sh"

[[ $# == 5 ]] || die "usage: kernel-headers.sh RELEASE VERSION MODULE_ROOT OUT_DIR WORK_DIR"
release=$1 version=$2 headers=linux-headers-$1
[[ $version != *~bpo* ]] || use_backports
refresh_lists || exit 2 # it has said why
mapfile -t names < <(dependencies "$headers" "$version" 2>/dev/null | grep -E '^linux-(headers|kbuild)-[0-9]')
((${#names[@]})) ||
    die "Debian 13 and its backports have no $headers $version now: give the folder in which that kernel was built"
cp --archive --link "$3/root" "$4/root"
unpack_exactly "$4/root" "$5" "${names[@]/%/=$version}" "$headers=$version"
echo "$release" >"$4/kernel-release"
