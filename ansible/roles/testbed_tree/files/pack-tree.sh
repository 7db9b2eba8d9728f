#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# pack-tree.sh CLONE FOLDER: the files of a clone that git knows or would add, as FOLDER/ID.tar.zst with ID the hash of
# their names, modes and content; prints ID and the SHA-256 of the archive.
set -euo pipefail
cd "$1"
mkdir -p "$2"
work=$(mktemp -d "$2/.packing.XXXXXX")
trap 'rm -rf "$work"' EXIT
git ls-files -z --cached --others --exclude-standard | while IFS= read -rd '' file; do
    if [[ -e $file ]]; then printf '%s\0' "$file"; fi
done >"$work/files"
tar --null --files-from="$work/files" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r-w,a+X \
    --create --file="$work/tree.tar"
id=$(sha256sum "$work/tree.tar" | cut -c 1-16)
if [[ ! -f $2/$id.tar.zst ]]; then
    zstd -q "$work/tree.tar" -o "$work/tree.tar.zst"
    find "$2" -maxdepth 1 -name '????????????????.tar.zst' -delete # earlier trees
    mv "$work/tree.tar.zst" "$2/$id.tar.zst"
fi
echo "$id $(sha256sum <"$2/$id.tar.zst" | cut -d ' ' -f 1)"
