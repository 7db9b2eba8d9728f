#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# ext4, as ../file-systems.sh has it. OPTIONS are of mke2fs -J, and can be the size of the journal in MiB: size=4.

ext4_load() { :; } # mount(2) does

ext4_holds() { begins_with "$1" ext4; } # DISK

ext4_needs_partition() { [[ $1 == 4KiB ]]; } # PAGE_SIZE

# Devices of all sizes get the same layout, so that a program's files get the same blocks, and so the same pages, on each of them: groups of
# 8,192 inodes in fours, no room for the file system to grow, and the journal, of the size that mke2fs would give it, at the end.
# Allocations of whole 2 MiB (512 blocks) are aligned. With page_size=2MiB all are, since clusters have that size.
ext4_make() { # DISK PAGE_SIZE OPTIONS
    local blocks=$(($(blockdev --getsz "$1") / 8)) journal=16 groups layout
    groups=$(((blocks + 32767) / 32768))
    ((blocks < 1 << 18)) || journal=32
    ((blocks < 1 << 19)) || journal=64
    [[ ! $3 ]] || journal=${3#size=}
    layout=(-G 4 -N $((groups * 8192)) -J "size=$journal,location=$((blocks - journal * 256))")
    [[ $2 != 2MiB ]] || layout=(-O bigalloc -C 2M)
    mke2fs -q -t ext4 -b 4096 -O ^metadata_csum,^resize_inode "${layout[@]}" \
        -E stride=512,stripe_width=512,lazy_itable_init=1,lazy_journal_init=1,nodiscard "$1"
}

ext4_check() { e2fsck -fn "$1"; } # DISK
