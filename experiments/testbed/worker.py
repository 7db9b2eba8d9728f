# SPDX-License-Identifier: BSD-3-Clause
"""A Dask worker that says how many guests this host takes."""

import os
import socket
import sys
from urllib.parse import urlsplit

from . import capacity, scratch, units
from .capacity import Capacity
from .errors import TestbedError

MEMORY_MIB_MIN = 1024
CONNECT_S = 5  # an address that does not answer for so long is an error


def command(address: str, guests: int | None, memory: str | None, more: list[str]) -> list[str]:
    """The command of a worker of the scheduler at `address`: what is not given is what this host has now."""
    check_address(address)
    there = capacity.of_this_host()
    try:
        memory_mib = units.parse(memory, units.SIZE_BYTES) // 2**20 if memory else there.memory_mib
    except ValueError as error:
        raise TestbedError(f"--memory: {error}") from error
    room = Capacity(guests or there.guests, memory_mib)
    if room.memory_mib < MEMORY_MIB_MIN:
        raise TestbedError(f"{room.memory_mib} MiB of memory holds no guest; free some or state more by --memory")
    resources = ",".join(f"{name}={value:.0f}" for name, value in room.resources().items())
    # One process takes all guests, each a coroutine: one thread a guest is what lets Dask start so many at a time.
    # --memory-limit 0: Dask would watch its own process, and the memory is in the guests.
    options = ["--nworkers", "1", "--nthreads", str(room.guests), "--memory-limit", "0", "--no-dashboard"]
    return [sys.executable, "-m", "distributed.cli.dask_worker", address, *options, "--resources", resources, *more]


def check_address(address: str) -> None:
    """Refuse what cannot be a scheduler's address, before anything waits for it."""
    try:
        parts = urlsplit(address)
        whole = bool(parts.scheme and parts.hostname and parts.port)
    except ValueError:  # a port that is no number
        whole = False
    if not whole:
        raise TestbedError(f"scheduler '{address}' is no address; write it as tcp://HOST:8786")


def check_reachable(address: str) -> None:
    """Refuse an address at which nothing listens, before anything is built for it."""
    check_address(address)
    parts = urlsplit(address)
    try:
        socket.create_connection((parts.hostname, parts.port), timeout=CONNECT_S).close()
    except OSError as error:
        raise unreachable(address) from error


def unreachable(address: str) -> TestbedError:
    return TestbedError(
        f"--scheduler {address}: no Dask scheduler answers there; start one by `dask scheduler` on that host, "
        "or leave the option (and TESTBED_SCHEDULER) away to run here"
    )


def become(command: list[str]) -> None:
    """Go on as that command, so that signals reach it. What an earlier worker left when it was killed goes first."""
    scratch.remove_orphans()
    os.execv(command[0], command)
