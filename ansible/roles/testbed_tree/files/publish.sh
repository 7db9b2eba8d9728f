#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# publish.sh STAGING DESTINATION NAME:SHA256...: unpack each STAGING/NAME.tar.zst as the folder DESTINATION/NAME.
# A folder appears whole, by one rename, after its archive's checksum was found right, or not at all.
set -euo pipefail
staging=$1 destination=$2
shift 2
mkdir -p "$destination"
work=$(mktemp -d "$destination/.incoming.XXXXXX")
trap 'rm -rf "$work"' EXIT
for item; do
    name=${item%%:*} archive=$staging/${item%%:*}.tar.zst
    if [[ ! -d $destination/$name ]]; then
        echo "${item##*:}  $archive" | sha256sum --check --quiet
        mkdir "$work/$name"
        tar --zstd --extract --file="$archive" --directory="$work/$name" --no-same-owner
        sync --file-system "$work/$name" # the rename must not reach the disk before the content
        mv -T "$work/$name" "$destination/$name"
    fi
    rm -f "$archive"
done
