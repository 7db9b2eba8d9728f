#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Kyoto Cabinet, LMDB and PMDK, from Debian 13's source packages.
set -euo pipefail

folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages=(kyotocabinet lmdb pmdk)
patches=("$folder"/kyotocabinet/*)

usage() {
    cat <<'EOT'
usage: sources.sh fingerprint     print every tarball's name and its SHA-256
       sources.sh prepare DIR     unpack into DIR: kyotocabinet, kyotocabinet-snapshot (patched), lmdb, pmdk

environment:
  TESTBED_DEBIAN_MIRROR   Debian mirror, if the host's own sources name none
  TESTBED_CACHE           where package index and tarballs are kept
EOT
}

die() {
    printf 'experiments/workloads/upstream/sources.sh: %s\n' "$*" >&2
    exit 2
}

derive() { # TREE
    cp -a "$1/kyotocabinet" "$1/kyotocabinet-snapshot"
    apply_series "$1/kyotocabinet-snapshot" "$folder/kyotocabinet"
}

lib=$folder/../../../guest-image/image/lib
# shellcheck source=guest-image/image/lib/archive.sh
. "$lib/archive.sh"
# shellcheck source=guest-image/image/lib/program_sources.sh
. "$lib/program_sources.sh"
program_sources "$@"
