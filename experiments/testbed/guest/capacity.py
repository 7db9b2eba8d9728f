# SPDX-License-Identifier: BSD-3-Clause
"""How much memory a guest needs, and how many guests a host takes at a time."""

import os
from dataclasses import dataclass

import psutil

from ..manifest.manifest import GuestConfig

OVERHEAD_MIB = 256  # QEMU's code and translations, the model's tables, the runner's copy of the guest's files
BOOTED_MIB = 512  # what a booted guest of 1 GiB has taken: 430 MiB measured, of which its copies share most
MEDIA_MIB_MAX = 1024  # media are sparse files: beyond this the kernel writes their pages back under pressure


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
    own_mib = guest.memory_bytes // 2**20 + min(media_mib(guest), MEDIA_MIB_MAX) + OVERHEAD_MIB
    return own_mib + 2 * BOOTED_MIB


def media_mib(guest: GuestConfig) -> int:
    """What its device's persistent memory would take if all of it were written."""
    return (guest.device.capacity - guest.device.volatile_size) // 2**20


def needs(guest: GuestConfig) -> dict[str, float]:
    """What a run takes of a worker's resources."""
    return {"guest": 1, "memory_mib": memory_need_mib(guest)}


def of_this_host() -> Capacity:
    """A guest for each core this process may use, in the memory that is free now."""
    return Capacity(len(os.sched_getaffinity(0)), psutil.virtual_memory().available // 2**20)
