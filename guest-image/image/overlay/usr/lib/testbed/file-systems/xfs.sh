#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# XFS, as ../file-systems.sh has it. OPTIONS are of mkfs.xfs -i.

xfs_load() { :; } # mount(2) does

xfs_holds() { begins_with "$1" xfs; } # DISK

# XFS with reflinks refuses DAX on a partition, and needs none, since it aligns nothing unless it is told of stripes.
xfs_needs_partition() { false; }

# Its log has 64 MiB at least with stripes.
xfs_make() { # DISK PAGE_SIZE OPTIONS
    local layout=()
    [[ ! $3 ]] || layout+=(-i "$3")
    [[ $2 != 2MiB ]] || layout+=(-d "su=2m,sw=1,extszinherit=512,agcount=4" -l size=64m)
    mkfs.xfs -q -K -m reflink=1 "${layout[@]}" "$1"
}

xfs_check() { xfs_repair -n "$1"; } # DISK
