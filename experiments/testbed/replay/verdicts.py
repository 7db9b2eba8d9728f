# SPDX-License-Identifier: BSD-3-Clause
"""Which runs there can be, asked of the model before the first guest boots; no rule of the model's stands here."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import psutil

from ..errors import TestbedError
from ..manifest.manifest import GuestConfig, Run
from .grid import Configuration
from .replayer import Replayer, open_replayer


def of_runs(runs: Sequence[Run], replayer: Replayer | None = None, elsewhere: bool = False) -> list[str]:
    """For each run why it cannot be made, with file and key; nothing if it can.

    The memory of this host counts unless they are made `elsewhere`, where the workers' does.
    """
    distinct = list(dict.fromkeys(run.guest for run in runs))
    said = dict(zip(distinct, (replayer or open_replayer()).judge(distinct), strict=True))
    return [_sentence(run.origin, said[run.guest] or ("" if elsewhere else _of_host(run.guest))) for run in runs]


def _sentence(origin: str, fault: str) -> str:
    return f"{origin}: {fault}" if fault else ""


def _of_host(guest: GuestConfig) -> str:
    here = psutil.virtual_memory().total
    if guest.memory_bytes <= here:
        return ""
    return f"guest.memory is {guest.memory_bytes >> 20} MiB, but this host has {here >> 20} MiB; lower it"


def check_grid(origin: Path, machine: GuestConfig, grid: Sequence[Configuration], replayer: Replayer) -> None:
    """Refuse a grid that has a device which the model refuses, before a trace is captured for it."""
    machines = [replace(machine, device=configuration.device) for configuration in grid]
    for configuration, fault in zip(grid, replayer.judge(machines), strict=True):
        if fault:
            raise TestbedError(f"{origin}: replay.grid at {configuration.label}: {fault}")
