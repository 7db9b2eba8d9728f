#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# compile.sh MODULE_ROOT FOLDER: compile the kernel modules whose sources are in FOLDER, there, by the product of build.sh.
#
# In a mount namespace, and of a user who is not root in a user namespace as well. There the root cannot be changed, and the
# folder is always /module, so that the same sources give the same bytes.
set -euo pipefail
product=$1 folder=$2 root=$1/root

if [[ ${3-} != inside ]]; then
    user=()
    ((EUID == 0)) || user=(--user --map-root-user)
    exec unshare "${user[@]}" --mount "$0" "$product" "$folder" inside
fi
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount --bind /dev/null "$root/dev/null"
mount --bind "$folder" "$root/module"
mount --rbind /proc "$root/proc" # which objtool reads since Linux 7
mount -t tmpfs tmpfs "$root/tmp"
# Types for BPF are left out: they are made from the whole kernel, which is not there.
exec env -i PATH=/usr/sbin:/usr/bin LC_ALL=C TZ=UTC chroot "$root" make --silent --jobs="$(nproc)" \
    -C "/usr/src/linux-headers-$(<"$product/kernel-release")" M=/module CONFIG_DEBUG_INFO_BTF_MODULES= modules
