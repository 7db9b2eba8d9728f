# SPDX-License-Identifier: BSD-3-Clause
"""The regions of a machine with a topology: a script that makes them, which the job runs before its own script.

The image is the same as for other machines. Its init leaves the regions to the job, and the script uses the functions
of init.
"""

import shlex
from dataclasses import asdict, replace
from typing import Any

from ..file_systems.table import table
from ..manifest.guest_config import GuestConfig
from ..manifest.topology import Region
from ..program.job_archive import Job

NAME = ".regions"  # in /job
UNSTATED = ("mount_options", "")  # a region without stated options: no part of its identity
# Region N is made as the N-th and lies in window N; its disk or DAX device has the same number.
SCRIPT = r"""
. /usr/lib/testbed/region.sh
exec >/dev/console 2>&1
cxl=/sys/bus/cxl/devices

await_devices() { # HOW MANY
    local tries found
    for ((tries = 0; tries < 500; tries++)); do
        found=("$cxl"/endpoint*)
        ((${#found[@]} < $1)) || return 0
        sleep 0.01
    done
    printf 'there are %s devices of %s\n' "${#found[@]}" "$1" >&2
    return 1
}

# Linux numbers devices as it finds them; serial numbers are ours.
memdevs() { # DEVICE...
    local device
    for device; do
        grep -lx "0x$((device + 1))" "$cxl"/mem*/serial | cut -d / -f 6
    done
}

make_region() { # REGION PARTITION GRANULARITY DEVICE...
    local n=$1 partition=$2 granularity=$3 found
    shift 3
    mapfile -t found < <(memdevs "$@")
    ((${#found[@]} == $#)) || return
    (($# == 1)) || found=(-w "$#" -g "$granularity" "${found[@]}")
    cxl create-region -m -t "$partition" -d "decoder0.$n" "${found[@]}" >"/run/testbed/region$n.json" || return
    await "$cxl/region$n"
}

# The namespace is found through its label, if there is one.
make_namespace() { # REGION MODE
    local left=/sys/bus/nd/devices/region$1/available_size options=(--mode="$2")
    is_new=
    await "$left" || return
    [[ $2 != devdax ]] || options+=(--map=mem)
    [[ $2 != fsdax ]] || options=("${dax_namespace[@]}")
    if (($(<"$left") > 0)); then
        ndctl create-namespace -r "region$1" "${options[@]}" >"/run/testbed/namespace$1.json" || return
        is_new=yes
    fi
}

make_memory() { # REGION
    await "/sys/bus/dax/devices/dax$1.0" || return
    daxctl reconfigure-device --mode=system-ram "dax$1.0" >"/run/testbed/dax$1.json"
}

mount_disk() { # DISK FOLDER
    make_file_system "$1" || return
    mount_file_system "$1" "$2" || return
    if [[ -d /job/root && $2 != "$TESTBED_PMEM" ]]; then # a program of the host has a root of its own
        mkdir -p "/job/root$2" && mount --bind "$2" "/job/root$2"
    fi
}

# Sets up a region for its use. With a folder it has a file system.
use_region() { # REGION PARTITION USE [FOLDER FILE_SYSTEM MKFS_OPTIONS MOUNT_OPTIONS]
    local disk=/dev/pmem$1 folder=$4
    file_system=$5 make_options=$6 mount_options=$7
    case $2:$3 in
    pmem:system-ram) make_namespace "$1" devdax ;;
    pmem:*) make_namespace "$1" "$3" ;;
    esac || return
    case $3 in
    sector) disk+=s ;;
    system-ram)
        make_memory "$1"
        return
        ;;
    devdax)
        [[ $2 == pmem ]] || daxctl reconfigure-device -f --mode=devdax "dax$1.0" >"/run/testbed/dax$1.json" || return
        await "/dev/dax$1.0"
        return
        ;;
    esac
    # All of the region is taken, but by a namespace that is not there.
    await "$disk" || {
        why="the media have the labels of other regions, so there is no ${disk#/dev/}; take a new media folder"
        return 1
    }
    [[ $folder ]] || return 0
    [[ $3 != fsdax ]] || find_disk "$1" "$disk" "$file_system" || return
    mount_disk "$disk" "$folder"
}

set_up() {
    modprobe -a cxl_acpi cxl_pci cxl_mem cxl_pmem nd_pmem nd_btt dax_pmem dax_cxl device_dax kmem || return
    await_devices "$devices" || return
    echo offline >/sys/devices/system/memory/auto_online_blocks # as init does it
    make_all
}

why="see the console log"
set_up || give_up "setting up the regions, their namespaces or their file systems failed: $why"
"""


def before(job: Job, guest: GuestConfig) -> Job:
    """The same job, which first makes the regions of the machine and finally unmounts their file systems."""
    if not guest.topology:
        return job
    body = job.script.partition("\n")[2]
    lines = [line for n, region in enumerate(guest.topology.regions) for line in _lines(n, region)]
    make_all = "".join(f"    {line} || return\n" for line in lines)
    script = f"#!/bin/bash\ndevices={len(guest.devices)}\nmake_all() {{\n    :\n{make_all}}}\n{SCRIPT}"
    kinds = ",".join(sorted({row.kind for row, _ in guest.mounted}))
    end = f"status=$?\numount -a -t {kinds} 2>/dev/null\nexit $status\n" if kinds else ""
    around = f"#!/bin/bash\n./{NAME} || exit\n(\n{body}\n)\n{end}"
    return replace(job, script=around, executables={**job.executables, NAME: script.encode()})


def _lines(n: int, region: Region) -> list[str]:
    devices = " ".join(map(str, region.devices))
    use = ["use_region", str(n), region.partition, region.use]
    if region.file_system:
        row = table()[region.file_system]
        use += [region.mount, row.name, row.mkfs, row.mounted_with(region.mount_options)]
    return [f"make_region {n} {region.partition} {region.granularity_bytes} {devices}", shlex.join(use)]


def as_data(region: Region) -> dict[str, Any]:
    """The region as data for the identity of a run."""
    return {name: value for name, value in asdict(region).items() if name != "key" and (name, value) != UNSTATED}
