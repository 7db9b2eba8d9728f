#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# pack.sh CACHE STAGING NAME...: each cache entry as STAGING/NAME.tar.zst; prints "NAME:SHA256" for each.
set -euo pipefail
cache=$1 staging=$2
shift 2
mkdir -p "$staging"
for name; do
    archive=$staging/$name.tar.zst
    tar --directory="$cache/$name" --sort=name --owner=0 --group=0 --numeric-owner --create . | zstd -q -f -T0 -1 -o "$archive"
    echo "$name:$(sha256sum <"$archive" | cut -d ' ' -f 1)"
done
