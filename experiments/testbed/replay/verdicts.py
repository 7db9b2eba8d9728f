# SPDX-License-Identifier: BSD-3-Clause
"""Asks the model which machines are possible, before the first guest boots; no rule of the model is repeated here.

The model names its fields ("flash_read_ps must not exceed 1 s"); messages for the user name the keys of manifests.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import psutil

from ..errors import TestbedError
from ..manifest import parse, profiles, topology
from ..manifest.bases import Data
from ..manifest.guest_config import FullSize, GuestConfig
from ..manifest.parameters import Profile, field_of, key_of, show_value
from ..manifest.parse import Manifest
from ..manifest.render import Run
from ..manifest.scale import guest_config, machines, scaled
from .grid import Configuration
from .replayer import Replayer, open_replayer

REFUSAL = re.compile(r"(cpu|device)\.([\w.-]+) (.*)")


def of_runs(runs: Iterable[Run], replayer: Replayer | None = None, elsewhere: bool = False) -> list[str]:
    """Return for each run why it cannot be made, with file and key; empty if it can.

    A machine must be possible both at full size and scaled. The memory of this host counts unless the runs are made
    `elsewhere`, where the memory of the workers counts.
    """
    replayer = replayer or open_replayer()
    of_each = list[int]()
    first = dict[tuple[int, int, str], tuple[int, Run]]()  # for each machine a number, and a run that keeps ids valid
    for run in runs:
        number, _ = first.setdefault((id(run.full), id(run.guest), run.origin), (len(first), run))
        of_each.append(number)
    alike = [run for _, run in first.values()]
    said = faults([machine for run in alike for machine in (run.full, run.guest)], replayer)
    why = []
    for run in alike:
        here = "" if elsewhere else _of_host(run.guest)
        fault = _why(run.full, run.guest, run.scale, said, replayer) or here
        why.append(f"{run.origin}: {fault}" if fault else "")
    return [why[number] for number in of_each]


def refuse_if_none_can_be(runs: Sequence[Run]) -> None:
    """Reject runs if none of them can be made on any host, before QEMU and the guest are built for them."""
    said = of_runs(runs, elsewhere=True)
    if all(said):
        raise TestbedError("; ".join(dict.fromkeys(said)))


def machine_of(path: Path, own: Data | None = None) -> GuestConfig:
    """Return the machine of a manifest's first point, with the keys of `own` on top. TestbedError: it is impossible."""
    stated = parse.load_changed(path, own or {})
    (full, guest), replayer = machines(stated, stated.first_point), open_replayer()
    if fault := _why(full, guest, stated.scale, faults([full, guest], replayer), replayer) or _of_host(guest):
        raise TestbedError(f"{stated.origin}: {fault}")
    return guest


def _why(full: FullSize, guest: GuestConfig, scale: int, said: dict[GuestConfig, str], replayer: Replayer) -> str:
    if said[full] or not said[guest]:
        return said[full]
    return said[guest] + _another_scale(full, scale, replayer)


def faults(guests: Iterable[GuestConfig], replayer: Replayer) -> dict[GuestConfig, str]:
    """Return for each machine its first fault, beginning with the key; empty for a possible machine."""
    alone = {guest: [replace(guest, device=device, topology=None) for device in guest.devices] for guest in guests}
    distinct = list(dict.fromkeys(one for each in alone.values() for one in each))
    said = dict(zip(distinct, replayer.judge(distinct), strict=True))
    return {guest: _fault(guest, [_fault_alone(one, said[one]) for one in each]) for guest, each in alone.items()}


def _fault_alone(guest: GuestConfig, fault: str) -> str:
    """Return the fault of a machine with one device, in the manifest's words."""
    return profiles.problem(guest.cpu, guest.device) or _in_keys(guest, fault)


def _fault(guest: GuestConfig, of_each: Sequence[str]) -> str:
    """Return the fault of a machine, given the fault of each of its devices."""
    if not guest.topology:
        return of_each[0]
    first = next((f"device {n}: {fault}" for n, fault in enumerate(of_each) if fault), "")
    return first or topology.problem(guest.topology, guest.device)


def _in_keys(guest: GuestConfig, fault: str) -> str:
    """Restate the model's rejection of a field in a manifest's words: the key and its value, then the rule."""
    match = REFUSAL.fullmatch(fault)
    if not match:
        return fault
    owner, field, rule = match[1], field_of(match[2]), match[3]
    profile = guest.cpu if owner == "cpu" else guest.device
    if not hasattr(profile, field):  # no key states this field
        return fault
    value = show_value(field, getattr(profile, field))
    must = re.sub(r"[a-z][\w.]*\w", lambda name: _as_key(profile, name[0]), rule)
    return f"{owner} key '{key_of(field)}' ({value}) {must}"


def _as_key(profile: Profile, word: str) -> str:
    field = field_of(word)
    return key_of(field) if hasattr(profile, field) else word


def _another_scale(full: FullSize, scale: int, replayer: Replayer) -> str:
    """Suggest the largest power of two up to the run's scale at which the machine is possible; at 1 it is."""
    powers = [1 << exponent for exponent in range(scale.bit_length())]
    tried = {power: scaled(full, power) for power in powers}
    said = faults(tried.values(), replayer)
    works = max(power for power in powers if not said[tried[power]])
    return f", at scale 1/{scale} of {full.device.name}; key 'scale': {works} would do"


def _of_host(guest: GuestConfig) -> str:
    here = psutil.virtual_memory().total
    if guest.memory_bytes <= here:
        return ""
    return f"guest.memory is {guest.memory_bytes >> 20} MiB, but this host has {here >> 20} MiB; lower it"


def check_grid(manifest: Manifest, grid: Sequence[Configuration], replayer: Replayer) -> None:
    """Reject a grid with a device that the model rejects, before a trace is captured for it."""
    machine = guest_config(manifest)
    guests = [replace(machine, device=configuration.device) for configuration in grid]
    said = faults(guests, replayer)
    for configuration, guest in zip(grid, guests, strict=True):
        if said[guest]:
            raise TestbedError(f"{manifest.origin}: replay.grid at {configuration.label}: {said[guest]}")
