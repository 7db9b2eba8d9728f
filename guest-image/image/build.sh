#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the guest from Debian 13 packages. Needs no root: mmdebstrap unpacks in a user namespace when not root.
#
#   build.sh inputs COMPONENT                      files of this repository that go into the component's key
#   build.sh fingerprint COMPONENT                 everything else that can change the product (package versions)
#   build.sh build COMPONENT OUT_DIR WORK_DIR      make it; COMPONENT is buildroot, base or tools
#
# `build tools` wants BUILDROOT_DIR=<product of buildroot>. Any failure is one sentence on stderr and exit status 2.
set -euo pipefail
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1767225600 # 2026-01-01, also the guest's clock at boot
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../.." && pwd)

die() {
    printf 'guest-image/image/build.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/image/lib/archive.sh
. "$here/lib/archive.sh"
# shellcheck source=guest-image/image/lib/components.sh
. "$here/lib/components.sh"

usage() {
    die "usage: build.sh inputs|fingerprint COMPONENT, or build COMPONENT OUT_DIR WORK_DIR; COMPONENT is buildroot, base or tools"
}

tools_sources=(guest-image/tools guest-image/image/lib/{compile,in_root}.sh tests/ccached.sh)

inputs() {
    printf '%s\n' guest-image/image/build.sh guest-image/image/lib/{archive,components}.sh
    case $1 in
        buildroot) echo guest-image/image/packages/buildroot ;;
        base) printf '%s\n' guest-image/image/packages/base guest-image/image/packages/base-exclude guest-image/image/packages/modules guest-image/image/overlay ;;
        tools) printf '%s\n' guest-image/image/packages/buildroot guest-image/image/packages/base "${tools_sources[@]}" ;;
    esac
}

# The tools are compiled by the build root and leave out the libraries that the base holds, so both lists count.
fingerprint() {
    case $1 in
        buildroot) resolved buildroot ;;
        base) resolved base && resolved_kernel ;;
        tools) resolved buildroot && resolved base ;;
    esac
}

need_space() { # DIRECTORY MIB
    local free_mib
    free_mib=$(df --output=avail -BM "$1" | tail -n 1 | tr -dc 0-9)
    ((free_mib >= $2)) || die "$1 has $free_mib MiB free and building this component takes $2 MiB: free some space or set TESTBED_CACHE"
}

# One sentence out of a failed step's log; the log itself has been shown already.
explain() { # COMPONENT LOG WORK_DIR
    if grep -qiE 'no space left|not enough free space|disk quota' "$2" 2>/dev/null; then
        die "the disk holding $3 is full while building the guest's $1: free some space and run again; nothing was published"
    elif grep -qE "Version .* was not found|Unable to locate package|404 +Not Found" "$2"; then
        forget_lists
        die "Debian's archive changed since its package lists were read: the lists are dropped now, so run the same command again"
    elif grep -qiE 'could not resolve|failed to fetch|unable to connect|connection (failed|timed out|refused)|apt-get update.*failed' "$2"; then
        die "the Debian mirror cannot be reached while building the guest's $1: check the network, or set TESTBED_DEBIAN_MIRROR"
    elif grep -qiE 'subuid|unshare.*(failed|not permitted)|newuidmap' "$2"; then
        die "mmdebstrap may not use user namespaces here: add your user to /etc/subuid and /etc/subgid, or build as root"
    fi
    die "building the guest's $1 failed: see the messages above"
}

build() {
    local component=$1 out=$2 work=$3 log space_mib
    mkdir -p "$out" "$work" || die "cannot create $out and $work: is the disk full or read-only?"
    out=$(cd "$out" && pwd) work=$(cd "$work" && pwd) log=$work/build.log
    case $component in buildroot) space_mib=4500 ;; base) space_mib=1200 ;; tools) space_mib=200 ;; esac
    need_space "$work" "$space_mib"
    # Not `if step`: that would switch errexit off inside it.
    set +e
    (set -e; "build_$component" "$out" "$work") 2>&1 | tee "$log"
    local status=${PIPESTATUS[0]}
    set -e
    ((status == 0)) && return
    grep -q '^guest-image/image/build.sh: ' "$log" && exit 2 # the step has said it already
    explain "$component" "$log" "$work"
}

verb=${1-} component=${2-}
case $component in buildroot | base | tools) ;; *) usage ;; esac
case $verb:$# in
    inputs:2 | fingerprint:2) "$verb" "$component" ;;
    build:4) build "$component" "$3" "$4" ;;
    *) usage ;;
esac
