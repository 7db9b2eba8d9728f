# SPDX-License-Identifier: BSD-3-Clause
"""How much memory a guest needs, and how many guests a host takes at a time."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from ..errors import TestbedError
from ..manifest.manifest import GuestConfig
from ..manifest.topology import Partition, partition_bytes, size_bytes
from ..program.job_archive import Job
from .cpio import listed

OVERHEAD_MIB = 256  # QEMU's code and translations, the model's tables, the runner's copy of the guest's files
BOOTED_MIB = 512  # what a booted guest of 1 GiB has taken: 430 MiB measured, of which its copies share most
MEDIA_MIB_MAX = 1024  # media are sparse files: beyond this the kernel writes their pages back under pressure


PAGE_BYTES = 4096
KERNEL_BYTES = 45 * 2**20  # what it takes of a guest's memory for itself: 44 MiB did not do, 46 did


@dataclass(frozen=True)
class Capacity:
    """What a host has for guests: how many at a time, and memory for all of them together."""

    guests: int
    memory_mib: int

    def resources(self) -> dict[str, float]:
        """As Dask's resources; a worker declares these names and a run asks for them."""
        return {"guest": self.guests, "memory_mib": self.memory_mib}


def memory_need_mib(guest: GuestConfig) -> int:
    """The most that a run takes of its host's memory: its guest, the one that this is a copy of, and one that waits."""
    devices_mib = min(partitions_mib(guest, "pmem"), MEDIA_MIB_MAX) + partitions_mib(guest, "ram")
    devices_mib += interleaved_mib(guest)
    own_mib = guest.memory_bytes // 2**20 + devices_mib + OVERHEAD_MIB
    return own_mib + 2 * BOOTED_MIB


def check_holds(guest: GuestConfig, archives: Iterable[Path], job: Job | None) -> None:
    """Refuse a guest whose memory is too small for its root: its kernel would not boot, and say so in its log alone."""
    least_mib = least_memory_mib(archives, job)
    if guest.memory_bytes < least_mib * 2**20:
        what = "what the image, the packages and the job bring along"
        raise TestbedError(
            f"guest.memory is {guest.memory_bytes >> 20} MiB, too little for {what}; it must be at least {least_mib}MiB"
        )


def least_memory_mib(archives: Iterable[Path], job: Job | None) -> int:
    """The least memory in which the root of a guest can be, by the kernel's rules.

    It is unpacked while the archives are in memory too, into a file system that may have half of the rest. Less than
    this cannot do; that so much does depends on what the programs take.
    """
    packed = unpacked = 0
    for archive in archives:
        packed += archive.stat().st_size
        unpacked += sum(_in_pages(entry.size_bytes) for entry in listed(archive))
    if job:
        unpacked += sum(_in_pages(len(content)) for content in (*job.files.values(), *job.executables.values()))
    least_bytes = (packed + 2 * unpacked + KERNEL_BYTES) * 64 // 63  # of each page the kernel keeps 64 bytes
    return -(-least_bytes // 2**20)


def _in_pages(size_bytes: int) -> int:
    return -(-size_bytes // PAGE_BYTES) * PAGE_BYTES


def partitions_mib(guest: GuestConfig, partition: Partition) -> int:
    """What such memory of its devices would take if all of it were written."""
    return sum(partition_bytes(device, partition) for device in guest.devices) // 2**20


def interleaved_mib(guest: GuestConfig) -> int:
    """What QEMU has beside it of regions over several devices: their memory once more, which is in no file."""
    regions = guest.topology.regions if guest.topology else ()
    return sum(size_bytes(region, guest.devices) for region in regions if len(region.devices) > 1) // 2**20


def needs(guest: GuestConfig) -> dict[str, float]:
    """What a run takes of a worker's resources."""
    return {"guest": 1, "memory_mib": memory_need_mib(guest)}


def of_this_host() -> Capacity:
    """A guest for each core this process may use, in the memory that is free now."""
    return Capacity(len(os.sched_getaffinity(0)), psutil.virtual_memory().available // 2**20)
