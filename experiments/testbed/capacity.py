# SPDX-License-Identifier: BSD-3-Clause
"""How much memory a guest needs, and how many guests a host takes at a time."""

import os
from dataclasses import dataclass

import psutil

from .manifest import GuestConfig, Run

OVERHEAD_MIB = 256  # QEMU's code and translations, the model's tables, the runner's copy of the guest's files
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
    """The most that a guest takes of its host's memory."""
    media_mib = (guest.device.capacity - guest.device.volatile_size) // 2**20
    return guest.memory_bytes // 2**20 + min(media_mib, MEDIA_MIB_MAX) + OVERHEAD_MIB


def needs(run: Run) -> dict[str, float]:
    """What a run takes of a worker's resources."""
    return {"guest": 1, "memory_mib": memory_need_mib(run.guest)}


def of_this_host() -> Capacity:
    """A guest for each core this process may use, in the memory that is free now."""
    return Capacity(len(os.sched_getaffinity(0)), psutil.virtual_memory().available // 2**20)
