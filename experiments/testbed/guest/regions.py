# SPDX-License-Identifier: BSD-3-Clause
"""The regions of a machine that has a topology: a script that makes them, which the job runs before its own.

The image is the same as for other machines. Its init leaves the regions to the job, and lends the script its functions.
"""

from dataclasses import asdict, replace
from typing import Any

from ..manifest.manifest import GuestConfig
from ..manifest.topology import Region
from ..program.job_archive import Job
from . import file_systems, tbfs

NAME = ".regions"  # in /job
UNSTATED = ("mount_options", "")  # of a region that has none: no part of its identity
# Region N is the N-th that is made, stands in the window of its number, and its disk or DAX device has that number.
SCRIPT = r"""
eval "$(sed -n '/^results=/p; /^say() /,/^stty /{/^stty /d;p}' /init)"
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

mount_disk() { # DISK FILE_SYSTEM FOLDER
    file_system=$2
    make_file_system "$1" || return
    mkdir -p "$3" || return
    mount -t "${file_system%-*}" -o "noatime,${mount_options[$file_system]}" "$1" "$3" || return
    if [[ -d /job/root && $3 != "$TESTBED_PMEM" ]]; then # a program of the host has a root of its own
        mkdir -p "/job/root$3" && mount --bind "$3" "/job/root$3"
    fi
}

# What becomes of a region.
use_region() { # REGION PARTITION USE FILE_SYSTEM FOLDER
    local disk=/dev/pmem$1
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
    [[ $3 != fsdax || ! $5 ]] || find_disk "$1" "$disk" "$4" || return
    [[ ! $5 ]] || mount_disk "$disk" "$4" "$5"
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
    """The same job, which makes the regions of the machine first, and gives back what is mounted last."""
    if not guest.topology:
        return job
    body = job.script.partition("\n")[2]
    has_tbfs = tbfs.uses(guest)
    lines = [line for n, region in enumerate(guest.topology.regions) for line in _lines(n, region)]
    make_all = "".join(f"    {line} || return\n" for line in (["take_tbfs"] if has_tbfs else []) + lines)
    more = tbfs.SCRIPT if has_tbfs else ""
    script = f"#!/bin/bash\ndevices={len(guest.devices)}\nmake_all() {{\n    :\n{make_all}}}\n{more}{SCRIPT}"
    end = "status=$?\numount -a -t ext4,xfs 2>/dev/null\nexit $status\n"
    around = f"#!/bin/bash\n./{NAME} || exit\n(\n{body}\n)\n{end}"
    return replace(job, script=around, executables={**job.executables, NAME: script.encode()})


def _lines(n: int, region: Region) -> list[str]:
    devices = " ".join(map(str, region.devices))
    file_system = file_systems.known(region.file_system) if region.file_system else "none"
    return [
        *([tbfs.options(region)] if region.file_system == "tbfs" else []),
        f"make_region {n} {region.partition} {region.granularity_bytes} {devices}",
        f"use_region {n} {region.partition} {region.use} {file_system} {region.mount or chr(39) * 2}",
    ]


def as_data(region: Region) -> dict[str, Any]:
    """For the identity of a run."""
    return {name: value for name, value in asdict(region).items() if name != "key" and (name, value) != UNSTATED}
