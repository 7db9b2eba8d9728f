# SPDX-License-Identifier: BSD-3-Clause
"""Commands that start Dask's scheduler, and a Dask worker that declares how many guests this host takes."""

import os
import sys

from .. import scratch, units
from ..errors import TestbedError
from ..guest import capacity
from ..guest.capacity import Capacity
from . import trust
from .trust import Address

MEMORY_MIB_MIN = 1024
CONNECT_S = 5  # an address that does not answer within this time is an error

# Dask serves pages about its state even without a dashboard: on loopback only.
WEB = ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
# Options of Dask that users may not pass on, because the testbed determines the listening address.
LISTENING = (
    *("--host", "--interface", "--protocol", "--listen-address", "--contact-address"),
    *("--dashboard", "--dashboard-address", "--jupyter"),
)
# Dask's configuration for serving no pages on these ports.
NO_PAGES = {f"distributed.{role}.http.routes": list[str]() for role in ("scheduler", "worker")}


def command(
    address: str, guests: int | None, memory: str | None, more: list[str], host: str | None = None
) -> list[str]:
    """The command of a worker of the scheduler at `address`; the defaults are this host's present capacity.

    The worker listens at `host`, by default at the source address of this host's packets to the scheduler.
    """
    there = trust.check_connection(address)
    _check_more(more, (*LISTENING, "--scheduler-file"))
    host = host or trust.address_towards(there)
    trust.check_listening(host, there.is_tls)
    room = _room(guests, memory)
    resources = ",".join(f"{name}={value:.0f}" for name, value in room.resources().items())
    # One process runs all guests, each as a coroutine; Dask starts as many at a time as the worker has threads.
    # --memory-limit 0: Dask would watch only its own process, while the guests hold the memory.
    options = ["--nworkers", "1", "--nthreads", str(room.guests), "--memory-limit", "0", "--resources", resources]
    where = ["--host", _bracketed(host), *WEB, *(trust.dask_options() if there.is_tls else [])]
    return [sys.executable, "-m", "distributed.cli.dask_worker", address, *where, *options, *more]


def scheduler_command(host: str, port: int, more: list[str]) -> list[str]:
    """The command of a scheduler that listens at an address of this host and nowhere else."""
    _check_more(more)
    encrypted = trust.has_certificates("scheduler")
    trust.check_listening(host, encrypted)
    where = ["--host", _bracketed(host), "--port", str(port), "--protocol", "tls" if encrypted else "tcp"]
    return [sys.executable, "-m", "distributed.cli.dask_scheduler", *where, *WEB, *trust.dask_options(), *more]


def _room(guests: int | None, memory: str | None) -> Capacity:
    there = capacity.of_this_host()
    try:
        memory_mib = units.parse(memory, units.SIZE_BYTES) // 2**20 if memory else there.memory_mib
    except ValueError as error:
        raise TestbedError(f"--memory: {error}") from error
    if memory_mib < MEMORY_MIB_MIN:
        raise TestbedError(f"{memory_mib} MiB of memory holds no guest; free some or state more by --memory")
    return Capacity(guests or there.guests, memory_mib)


def _check_more(more: list[str], refused: tuple[str, ...] = LISTENING) -> None:
    for n, word in enumerate(more):
        is_tls = more[n : n + 2] == ["--protocol", "tls://"]  # as in jobs of Slurm
        if word.partition("=")[0] in refused and not is_tls:
            raise TestbedError(f"{word.partition('=')[0]} is not for Dask: give --host, or an address, before the '--'")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def check_reachable(address: str) -> Address:
    """Refuse a scheduler that does not answer or is not trusted, before anything is built for it."""
    there = trust.check_connection(address)
    try:
        trust.check_greeting(there, CONNECT_S)
    except OSError as error:
        raise unreachable(address) from error
    return there


def unreachable(address: str) -> TestbedError:
    return TestbedError(
        f"--scheduler {address}: no Dask scheduler answers there; start one by `testbed scheduler` on that host, "
        "or leave the option (and TESTBED_SCHEDULER) away to run here"
    )


def with_folder(command: list[str]) -> list[str]:
    """A worker's command with a new folder for the worker's files, unless the command names a folder.

    Dask's default folder has a well-known name among the temporary files, so another user may have created it first.
    """
    named = any(word.partition("=")[0] == "--local-directory" for word in command)
    return command if named else [*command, "--local-directory", str(scratch.kept("dask"))]


def become(command: list[str]) -> None:
    """Replace this process by the command, so that signals reach it. First remove folders of killed processes."""
    scratch.remove_orphans()
    for key, value in NO_PAGES.items():
        os.environ[f"DASK_{key.replace('.', '__').upper()}"] = str(value)
    os.execv(command[0], command)
