# SPDX-License-Identifier: BSD-3-Clause
"""How much memory a guest needs, and how many guests a host runs at a time."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from ..errors import TestbedError
from ..manifest.guest_config import GuestConfig
from ..manifest.topology import Partition, partition_bytes, size_bytes
from ..program.job_archive import Job
from .cpio import listed

OVERHEAD_MIB = 256  # QEMU's code and translations, the model's tables, the runner's copy of the guest's files
BOOTED_MIB = 512  # taken by a booted guest of 1 GiB: 430 MiB measured, and its copies share most of them
MEDIA_MIB_MAX = 1024  # the most to count: media are sparse files, so under pressure the kernel writes pages back


PAGE_BYTES = 4096
KERNEL_BYTES = 45 * 2**20  # of a guest's memory, for the kernel itself: 44 MiB were too little, 46 were enough


@dataclass(frozen=True)
class Capacity:
    """The number of guests that a host runs at a time, and the memory for all of them together."""

    guests: int
    memory_mib: int

    def resources(self) -> dict[str, float]:
        """The capacity as Dask resources: a worker declares these names, and a run requests them."""
        return {"guest": self.guests, "memory_mib": self.memory_mib}


def memory_need_mib(guest: GuestConfig) -> int:
    """The most host memory that a run takes: its guest, the booted guest that it copies, and one that waits."""
    devices_mib = min(partitions_mib(guest, "pmem"), MEDIA_MIB_MAX) + partitions_mib(guest, "ram")
    devices_mib += interleaved_mib(guest)
    own_mib = guest.memory_bytes // 2**20 + devices_mib + OVERHEAD_MIB
    return own_mib + 2 * BOOTED_MIB


def check_holds(guest: GuestConfig, archives: Iterable[Path], job: Job | None) -> None:
    """Raise TestbedError if the memory is too small for the root: the guest would not boot, and only log the reason."""
    least_mib = least_memory_mib(archives, job)
    if guest.memory_bytes < least_mib * 2**20:
        what = "what the image, the packages and the job bring along"
        raise TestbedError(
            f"guest.memory is {guest.memory_bytes >> 20} MiB, too little for {what}; it must be at least {least_mib}MiB"
        )


def least_memory_mib(archives: Iterable[Path], job: Job | None) -> int:
    """A lower bound, by the kernel's rules, of the memory that the root of a guest needs.

    The kernel unpacks the root while the archives are still in memory, into a file system that may take half of the
    rest. The memory of the guest's programs is not included.
    """
    packed = unpacked = 0
    for archive in archives:
        packed += archive.stat().st_size
        unpacked += sum(_in_pages(entry.size_bytes) for entry in listed(archive))
    if job:
        unpacked += sum(_in_pages(len(content)) for content in (*job.files.values(), *job.executables.values()))
    least_bytes = (packed + 2 * unpacked + KERNEL_BYTES) * 64 // 63  # the kernel keeps 64 bytes for each page
    return -(-least_bytes // 2**20)


def _in_pages(size_bytes: int) -> int:
    return -(-size_bytes // PAGE_BYTES) * PAGE_BYTES


def partitions_mib(guest: GuestConfig, partition: Partition) -> int:
    """The memory that this partition of all devices takes once all of it has been written."""
    return sum(partition_bytes(device, partition) for device in guest.devices) // 2**20


def interleaved_mib(guest: GuestConfig) -> int:
    """Memory that QEMU allocates in addition for regions over several devices: their size once more, in no file."""
    regions = guest.topology.regions if guest.topology else ()
    return sum(size_bytes(region, guest.devices) for region in regions if len(region.devices) > 1) // 2**20


def needs(guest: GuestConfig) -> dict[str, float]:
    """The share of a worker's resources that a run takes."""
    return {"guest": 1, "memory_mib": memory_need_mib(guest)}


def of_this_host() -> Capacity:
    """One guest for each core that this process may use, and the memory that is free now."""
    return Capacity(len(os.sched_getaffinity(0)), psutil.virtual_memory().available // 2**20)
