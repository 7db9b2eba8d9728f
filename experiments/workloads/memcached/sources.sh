#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Memcached and libevent, from Debian 13's source packages.
set -euo pipefail

folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages=(libevent memcached)
patches=("$folder"/patches/*)

usage() {
    cat <<'EOT'
usage: sources.sh fingerprint     print every tarball's name and its SHA-256
       sources.sh prepare DIR     unpack into DIR: libevent, memcached (patched), memcached-bug-late, memcached-bug-unlocked

environment:
  TESTBED_DEBIAN_MIRROR   Debian mirror, if the host's own sources name none
  TESTBED_CACHE           where package index and tarballs are kept
EOT
}

die() {
    printf 'experiments/workloads/memcached/sources.sh: %s\n' "$*" >&2
    exit 2
}

derive() { # TREE
    apply_series "$1/memcached" "$folder/patches"
    for bug in bug-late bug-unlocked; do
        cp -a "$1/memcached" "$1/memcached-$bug"
        apply "$1/memcached-$bug" "$folder/patches/$bug.patch"
    done
}

# shellcheck source=guest-image/image/lib/archive.sh
. "$folder/../../../guest-image/image/lib/archive.sh"
# shellcheck source=guest-image/image/lib/program_sources.sh
. "$folder/../../../guest-image/image/lib/program_sources.sh"
program_sources "$@"
