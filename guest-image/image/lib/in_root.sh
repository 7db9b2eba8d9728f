#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Run a command in a build root, the product of `build.sh build buildroot` or of module-root.sh.
#
#   in_root.sh ROOT [--over FOLDER] [--bind FROM TO]... COMMAND...
#
# --over lays the files of FOLDER over those of the root; --bind shows FROM at TO, a folder or file that the root has. The root
# itself is read-only. It all happens in a mount namespace, and for a user other than root in a user namespace as well. The same
# sources therefore give the same bytes wherever they lie on the host.
set -euo pipefail
if [[ ${1-} != --inside ]]; then
    user=()
    ((EUID == 0)) || user=(--user --map-root-user)
    exec unshare "${user[@]}" --mount "$0" --inside "$@"
fi
shift
root=$1
shift
if [[ $1 == --over ]]; then
    mount -t overlay overlay -o "lowerdir=$2:$root" "$root"
    shift 2
else
    mount --bind "$root" "$root"
    mount -o remount,bind,ro "$root"
fi
for device in null zero random urandom; do
    mount --bind "/dev/$device" "$root/dev/$device"
done
mount --rbind /proc "$root/proc" # Java finds its libraries by it, and objtool reads it since Linux 7
mount -t tmpfs tmpfs "$root/tmp"
while [[ $1 == --bind ]]; do
    mount --bind "$2" "$root$3"
    shift 3
done
exec env -i PATH=/usr/sbin:/usr/bin HOME=/tmp LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1767225600 chroot "$root" "$@"
