#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Memcached and libevent of Debian 13's source packages: only the upstream tarballs, whose hashes apt knows from the signed
# index. Not by snapshot-lib/programs/sources.sh: that is an input of the guest's software, whose key must stay.
set -euo pipefail

folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages=(libevent memcached)

usage() {
    cat <<'EOF'
usage: sources.sh fingerprint     print every tarball's name and its SHA-256
       sources.sh prepare DIR     unpack into DIR: libevent, memcached (patched), memcached-bug-late

environment:
  TESTBED_DEBIAN_MIRROR   Debian mirror, if the host's own sources name none
  TESTBED_CACHE           where package index and tarballs are kept
EOF
}

die() {
    printf 'guest-image/memcached/sources.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/lib/archive.sh
. "$folder/../lib/archive.sh"
tarballs=$(dirname "$lists_dir")/program-sources

# "URI NAME SHA256" of a package's newest upstream tarball, whichever suite has it.
orig_tarball() { # PACKAGE
    private_apt apt-get source --print-uris --only-source -qq "$1" |
        sed -nE "s/^'([^']+)' ([^ ]+\.orig\.tar\.[a-z0-9]+) [0-9]+ SHA256:([0-9a-f]+)$/\1 \2 \3/p"
}

tarball_lines() {
    local package line
    refresh_lists || exit 2 # it has said why
    for package in "${packages[@]}"; do
        line=$(orig_tarball "$package")
        [[ -n $line ]] || die "Debian $suite has no source package $package: check TESTBED_DEBIAN_MIRROR"
        echo "$line"
    done
}

fingerprint() {
    tarball_lines | cut -d' ' -f2-
}

# Prints where the tarball is; one with another hash is fetched again.
tarball() { # URI NAME SHA256
    local scratch file=$tarballs/$2
    if ! echo "$3  $file" | sha256sum --check --status 2>/dev/null; then
        mkdir -p "$tarballs"
        scratch=$(mktemp -d "$tarballs/fetch.XXXXXX")
        /usr/lib/apt/apt-helper -o APT::Sandbox::User="$(id -un)" download-file "$1" "$scratch/tarball" "SHA256:$3" \
            >"$scratch/log" 2>&1 || {
            sed 's/^/apt: /' "$scratch/log" >&2
            rm -r "$scratch"
            die "cannot download $2 with SHA-256 $3: check the network, or set TESTBED_DEBIAN_MIRROR"
        }
        mv "$scratch/tarball" "$file"
        rm -r "$scratch"
    fi
    echo "$file"
}

apply() { # DIR PATCH
    patch -d "$1" -p1 --fuzz=0 --quiet --input "$folder/patches/$2" ||
        die "patches/$2 does not apply to the source that Debian $suite has now"
}

# DIR appears whole or not at all; nothing is done if it is up to date.
prepare() { # DIR
    local dir=$1 lines uri name sum file tree patches patch
    lines=$(tarball_lines)
    patches=$(cat "$folder"/patches/* "${BASH_SOURCE[0]}" | sha256sum)
    [[ ! -f $dir/made-from ]] || [[ $(<"$dir/made-from") != "$lines"$'\n'"$patches" ]] || return 0
    mkdir -p "$(dirname "$dir")"
    tree=$(mktemp -d "$dir.XXXXXX")
    while read -r uri name sum; do
        file=$(tarball "$uri" "$name" "$sum")
        mkdir "$tree/${name%%_*}"
        tar -x -f "$file" -C "$tree/${name%%_*}" --strip-components=1 --no-same-owner
    done <<<"$lines"
    while read -r patch; do
        apply "$tree/memcached" "$patch"
    done <"$folder/patches/series"
    cp -a "$tree/memcached" "$tree/memcached-bug-late"
    apply "$tree/memcached-bug-late" bug-late.patch
    printf '%s\n' "$lines" "$patches" >"$tree/made-from"
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
