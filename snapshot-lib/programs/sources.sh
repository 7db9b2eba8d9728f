#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Sources of the programs that nobody here wrote, from Debian 13's source packages. Only the upstream tarballs are
# fetched: mirrors may lack the packaging. apt knows their hashes from the signed index.
set -euo pipefail

programs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages=(kyotocabinet lmdb pmdk)

usage() {
    cat <<'EOF'
usage: sources.sh fingerprint     print every tarball's path in the archive and its SHA-256
       sources.sh prepare DIR     unpack into DIR: kyotocabinet, kyotocabinet-snapshot (patched), lmdb, pmdk

environment:
  TESTBED_DEBIAN_MIRROR   Debian mirror, if the host's own sources name none
  TESTBED_CACHE           where package index and tarballs are kept
EOF
}

die() {
    printf 'snapshot-lib/programs/sources.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/lib/archive.sh
. "$programs/../../guest-image/lib/archive.sh"
tarballs=$(dirname "$lists_dir")/program-sources

# "PATH SHA256" of a package's newest upstream tarball.
orig_tarball() { # PACKAGE
    private_apt apt-cache showsrc --only-source "$1" | awk '
        /^Package:/ { hashes = 0; name = "" }
        /^Checksums-Sha256:/ { hashes = 1; next }
        /^[^ ]/ { hashes = 0 }
        hashes && $3 ~ /\.orig\.tar\.[a-z0-9]+$/ { name = $3; sum = $1 }
        /^Directory:/ && name != "" { print $2 "/" name, sum }' | sort -uV | tail -n 1
}

fingerprint() {
    local package line
    refresh_lists || exit 2 # it has said why
    for package in "${packages[@]}"; do
        line=$(orig_tarball "$package")
        [[ -n $line ]] || die "Debian $suite has no source package $package: check TESTBED_DEBIAN_MIRROR"
        echo "$line"
    done
}

# Prints where the tarball is; one with another hash is fetched again.
tarball() { # PATH SHA256
    local mirror scratch file
    file=$tarballs/$(basename "$1")
    if ! echo "$2  $file" | sha256sum --check --status 2>/dev/null; then
        mirror=$(sources | awk 'NR == 1 { print $3 }')
        mkdir -p "$tarballs"
        scratch=$(mktemp -d "$tarballs/fetch.XXXXXX")
        /usr/lib/apt/apt-helper -o APT::Sandbox::User="$(id -un)" download-file "${mirror%/}/$1" \
            "$scratch/tarball" "SHA256:$2" >"$scratch/log" 2>&1 || {
            sed 's/^/apt: /' "$scratch/log" >&2
            rm -r "$scratch"
            die "cannot download $(basename "$1") with SHA-256 $2: check the network, or set TESTBED_DEBIAN_MIRROR"
        }
        mv "$scratch/tarball" "$file"
        rm -r "$scratch"
    fi
    echo "$file"
}

unpack() { # TARBALL DIR
    mkdir "$2"
    tar -x -f "$1" -C "$2" --strip-components=1 --no-same-owner
}

apply_series() { # DIR PACKAGE
    local patch
    while read -r patch; do
        patch -d "$1" -p1 --fuzz=0 --quiet --input "$programs/$2/$patch" ||
            die "$2/$patch does not apply to the source that Debian $suite has now"
    done <"$programs/$2/series"
}

# DIR appears whole or not at all; nothing is done if it is up to date.
prepare() { # DIR
    local dir=$1 lines path sum file tree patches
    lines=$(fingerprint)
    patches=$(cat "$programs"/kyotocabinet/* "${BASH_SOURCE[0]}" | sha256sum)
    [[ ! -f $dir/made-from ]] || [[ $(<"$dir/made-from") != "$lines"$'\n'"$patches" ]] || return 0
    mkdir -p "$(dirname "$dir")"
    tree=$(mktemp -d "$dir.XXXXXX")
    while read -r path sum; do
        file=$(tarball "$path" "$sum")
        unpack "$file" "$tree/$(basename "$(dirname "$path")")"
    done <<<"$lines"
    printf '%s\n' "$lines" "$patches" >"$tree/made-from"
    cp -a "$tree/kyotocabinet" "$tree/kyotocabinet-snapshot"
    apply_series "$tree/kyotocabinet-snapshot" kyotocabinet
    rm -rf "$dir"
    mv "$tree" "$dir"
}

case ${1:-}:$# in
    fingerprint:1) fingerprint ;;
    prepare:2) prepare "$2" ;;
    -h:1 | --help:1) usage ;;
    *)
        usage >&2
        exit 2
        ;;
esac
