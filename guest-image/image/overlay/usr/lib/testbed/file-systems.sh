# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Finds, makes, mounts and checks a file system of any kind. Each kind has one file, file-systems/KIND.sh, in the image or in an
# archive over it. That file defines these functions:
#
#   KIND_load                             let the kernel know the kind, before a mount
#   KIND_holds DISK                       does the disk hold one? Asked where blkid, which looks at both ends of a disk, names nothing
#   KIND_needs_partition PAGE_SIZE        do mapped pages of this size take a partition that begins 4 KiB behind a multiple of 2 MiB?
#   KIND_make DISK PAGE_SIZE OPTIONS      make one. PAGE_SIZE is 4KiB, 2MiB or nothing; the file explains OPTIONS
#   KIND_check DISK                       look for faults in one that is not mounted, without a change; fail if there are any
#
# A name begins with the kind: `ext4-dax` is of the kind `ext4`. The table of names, with the options of each, is the runner's
# (experiments/testbed/file_systems/table.py).

# shellcheck source=guest-image/image/overlay/usr/lib/testbed/guest.sh
. /usr/lib/testbed/guest.sh

file_system='' make_options='' mount_options=''
page_size='' # by which processes map files, 4KiB or 2MiB; empty: as the file system lays files out
asked fs file_system
asked mkfs make_options
asked mount mount_options
asked pages page_size

kinds=()
for file in /usr/lib/testbed/file-systems/*.sh; do
    # shellcheck source=/dev/null
    . "$file"
    file=${file##*/}
    kinds+=("${file%.sh}")
done

# Sets `kind` to that of the name.
kind_of() { # NAME
    kind=${1%%-*}
    [[ " ${kinds[*]} " == *" $kind "* ]] || {
        why="the guest has no file system ${1:-without a name}"
        return 1
    }
}

# For KIND_holds of a kind with its superblock at the beginning: poison at the end of the disk hides nothing.
begins_with() { # DISK TYPE
    [[ ! $is_new && $(blkid -p -n "$2" -o value -s TYPE "$1") ]]
}

# Sets `found` to the type of the device's content, or to nothing if it is empty. blkid names nothing if one of the ends of the device has poison. So a device of an earlier
# boot is empty only if both of its ends can be read.
find_file_system() { # DISK
    local kind
    found=$(blkid -o value -s TYPE -s PTTYPE "$1")
    [[ ! $found ]] || return 0
    for kind in "${kinds[@]}"; do
        if "${kind}_holds" "$1"; then
            found=$kind
            return
        fi
    done
    [[ ! $is_new ]] || return 0
    { head -c 1M "$1" && tail -c 1M "$1"; } >/dev/null || {
        why="${1#/dev/} cannot be read where a file system begins or ends, so none is made on it; clear its poison, or take a new media folder"
        return 1
    }
}

make_file_system() { # DISK
    local found kind
    kind_of "$file_system" || return
    find_file_system "$1" || return
    case $found in
    "$kind") ;;
    '') "${kind}_make" "$1" "$page_size" "$make_options" ;;
    *)
        printf 'the device holds %s, but the run asks for %s\n' "$found" "$file_system" >&2
        return 1
        ;;
    esac
}

mount_file_system() { # DISK FOLDER
    local kind
    kind_of "$file_system" && "${kind}_load" || return
    mkdir -p "$2"
    mount -t "$kind" -o "noatime,$mount_options" "$1" "$2"
}

# For jobs: of whatever kind the device holds.
check_file_system() { # DISK
    local found kind is_new=
    find_file_system "$1" || return
    kind_of "$found" || return
    "${kind}_check" "$1"
}
