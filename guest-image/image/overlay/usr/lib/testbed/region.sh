# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Sets up one device: its regions, a namespace on the persistent one, and the file system there.

# shellcheck source=guest-image/image/overlay/usr/lib/testbed/file-systems.sh
. /usr/lib/testbed/file-systems.sh

dax_namespace=(--mode=fsdax --map=mem)
[[ ! $page_size ]] || dax_namespace+=(--name="$page_size")

# Sets `disk` to where the file system belongs. The name of a namespace on kept media says for which pages it was made.
find_disk() { # REGION DISK FILE_SYSTEM
    local made kind
    disk=$2
    made=$(<"/sys/bus/nd/devices/namespace$1.0/alt_name")
    [[ $made == "$page_size" ]] || {
        why="the media were made with page_size '$made', but the run asks for '$page_size'; ask for the same, or take a new media folder"
        return 1
    }
    kind_of "$3" || return
    "${kind}_needs_partition" "$page_size" || return 0
    [[ ! $is_new ]] || partition "$2" || return
    blockdev --rereadpt "$2"
    disk=$2p1
    await "$disk"
}

# A partition that begins 4 KiB behind a multiple of 2 MiB: blocks that its file system has aligned cannot be mapped by a page of 2 MiB.
partition() { # DISK
    local left=$(($(blockdev --getsz "$1") - 8)) entry='\0\0\0\0\x83\0\0\0\x08\0\0\0' n
    for n in 0 8 16 24; do
        printf -v entry '%s\\x%02x' "$entry" $((left >> n & 255))
    done
    { head -c 446 /dev/zero && printf '%b' "$entry" && head -c 48 /dev/zero && printf '\x55\xaa'; } >/run/testbed/table
    dd if=/run/testbed/table of="$1" conv=fsync,notrunc status=none
}

# A volatile partition is memory of a NUMA node of its own, movable, so that the kernel's own data stay in local DRAM. It comes before the
# persistent region: Linux hands out the addresses within a device in ascending order.
set_up_ram() {
    local size=/sys/bus/cxl/devices/mem0/ram/size
    if ! await "$size" || (($(<"$size") == 0)); then return 0; fi
    echo offline >/sys/devices/system/memory/auto_online_blocks # else Linux onlines it by itself, and not as movable
    modprobe -a dax_cxl device_dax kmem || return
    cxl create-region -m -t ram -d decoder0.0 mem0 >/run/testbed/ram.json || return
    await /sys/bus/dax/devices/dax0.0 || return
    daxctl reconfigure-device --mode=system-ram dax0.0 >/run/testbed/dax.json || return
    region=/sys/bus/nd/devices/region1 disk=/dev/pmem1 # regions of memory and of storage share their numbers
}

# The kernel does not re-create regions from the device's labels, so this is the same on every boot; the namespace is found through
# its label once the region is back, and the file system through its superblock.
set_up_pmem() {
    local region=/sys/bus/nd/devices/region0 disk=/dev/pmem0
    modprobe -a cxl_acpi cxl_pci cxl_mem cxl_pmem nd_pmem || return
    set_up_ram || return
    cxl create-region -m -t pmem -d decoder0.0 mem0 >/run/testbed/region.json || return
    await "$region/available_size" || return
    if (($(<"$region/available_size") > 0)); then
        ndctl create-namespace "${dax_namespace[@]}" >/run/testbed/namespace.json || return
        is_new=yes
    fi
    await "$disk" || return
    find_disk "${region##*region}" "$disk" "$file_system" || return
    make_file_system "$disk" || return
    mount_file_system "$disk" "$TESTBED_PMEM"
}
